package scenario

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
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
	if _, err := celexpr.CompileExtractor(source.Text); err != nil {
		g.failInText(source, err)
	}
}

// extractor checks that the extractor exists and that its values can complete the target.
func (c *checker) extractor(path string, constraint *evaluationv1.Constraint) {
	names, ok := c.findExtractor(path+".extractor", constraint)
	fill := constraint.GetFillTo()
	if !ok || fill != "tool_trace" && fill != "content" {
		return
	}
	for i, row := range constraint.GetTarget() {
		filled := false
		for j, cell := range row.GetCells() {
			if cell.GetColumn() != fill {
				continue
			}
			filled = true
			at := fmt.Sprintf("%s.target[%d].cells[%d]", path, i, j)
			if fill == "content" {
				c.fillsText(at, cell.GetValue().GetText(), names)
			} else {
				c.fillsTrace(at, cell.GetValue().GetText(), names)
			}
		}
		if !filled {
			c.fail(fmt.Sprintf("%s.target[%d]", path, i), "has no %s, which into says is to be filled", fill)
		}
	}
}

// findExtractor returns the names of the values of a constraint's extractor, nil for a pack's,
// whose names are unknown. ok is false after recording a mistake.
func (c *checker) findExtractor(path string, constraint *evaluationv1.Constraint) (names []string, ok bool) {
	name, text := constraint.GetExtractor(), constraint.GetExtractorExpression()
	switch {
	case name == "" && text == "":
		c.fail(path, "is empty, expected the name of an extractor or {cel: expression}")
	case name != "" && text != "":
		c.fail(path, "is both a name and an expression; keep one")
	case text != "":
		found, err := celexpr.CompileExtractor(text)
		if err == nil {
			return found.Names(), true
		}
		c.fail(path, "%v", err)
	default:
		if found, ok := celexpr.BuiltIn(name); ok {
			return found.Names(), true
		}
		if _, ok := c.opts.packMeasures.find(name, ExtractorKind); ok {
			return nil, true
		}
		c.fail(path, "%s", c.opts.packMeasures.unknown(name, ExtractorKind))
	}
	return nil, false
}

// fillsText checks that the placeholders in a text are the names of the extractor's values. If the
// names are unknown, it accepts any.
func (c *checker) fillsText(path, text string, names []string) {
	list := strings.Join(names, ", ")
	template, err := celexpr.ParseTemplate(text)
	if err != nil {
		c.fail(path, "%v", err)
		return
	}
	if len(names) == 0 {
		if len(template.Names) == 0 {
			c.fail(path, "has no place for what the extractor gives; write the name of a value in braces")
		}
		return
	}
	if unknown, ok := template.FirstUnknown(names); ok {
		c.fail(path, "has a place for %s, but the extractor gives %s", unknown, list)
	} else if len(template.Names) == 0 {
		c.fail(path, "has no place for what the extractor gives, which is %s; write {%s}", list, names[0])
	}
}

// fillsTrace checks that the wanted tools have arguments with the names of the extractor's values.
func (c *checker) fillsTrace(path, text string, names []string) {
	arguments := map[string]json.RawMessage{}
	for _, name := range names {
		arguments[name] = json.RawMessage("null")
	}
	for _, t := range traces(text) {
		c.arguments(path, t.Tool, arguments, false)
	}
}
