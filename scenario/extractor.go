package scenario

import (
	"encoding/json"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// extractor reads the name of an extractor, or an expression.
func (g *graphBuilder) extractor(v *document.Value, path string, c *evaluationv1.Constraint) {
	g.recordSource(path+".extractor", v)
	if !g.CheckShape(v, document.ShapeText, document.ShapeMapping) {
		return
	}
	if v.Shape == document.ShapeText {
		c.Extractor = v.Text
		return
	}
	if g.object(v, form.Expression()) == nil {
		return
	}
	source := v.Get(form.ExpressionKey)
	if !g.CheckShape(source, document.ShapeText) {
		return
	}
	c.ExtractorExpression = source.Text
	if _, err := measure.CompileExpression(source.Text); err != nil {
		g.failInText(source, err)
	}
}

// fillsTraces checks that the wanted tools have arguments with the names of the extractor's values.
func (c *checker) fillsTraces(path string, constraint *evaluationv1.Constraint, extractor *measure.Function) {
	if constraint.GetFillTo() != toolTraceColumn || extractor == nil {
		return
	}
	arguments := map[string]json.RawMessage{}
	for _, name := range extractor.Names {
		arguments[name] = json.RawMessage("null")
	}
	for i, row := range constraint.GetTarget() {
		for j, cell := range row.GetCells() {
			if cell.GetColumn() != toolTraceColumn {
				continue
			}
			for _, t := range traces(cell.GetValue().GetText()) {
				c.arguments(fmt.Sprintf("%s.target[%d].cells[%d]", path, i, j), t.Tool, arguments, false)
			}
		}
	}
}
