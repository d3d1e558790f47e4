package scenario

import (
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/python"
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
func (c *checker) fillsTraces(path string, constraint *evaluation.Constraint) {
	if constraint.Extractor == nil {
		return
	}
	var arguments python.Dict
	for _, name := range constraint.Extractor.Names {
		arguments.Set(name, python.None())
	}
	for i, row := range constraint.Target {
		for j := range row {
			for _, t := range row[j].Traces {
				c.arguments(fmt.Sprintf("%s.target[%d].cells[%d]", path, i, j), t.Tool, &arguments, false)
			}
		}
	}
}
