package scenario

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// extractor reads the name of an extractor or its expression.
func (g *graphBuilder) extractor(v *value, path string, c *evaluationv1.Constraint) {
	g.mark(path+".extractor", v)
	if !g.want(v, shapeText, shapeMapping) {
		return
	}
	if v.shape == shapeText {
		c.Extractor = v.text
		return
	}
	if g.object(v, expressionForm()) == nil {
		return
	}
	source := v.get(expressionKey)
	if !g.want(source, shapeText) {
		return
	}
	c.ExtractorExpression = source.text
	if _, err := celexpr.CompileExtractor(source.text); err != nil {
		g.failInside(source, err)
	}
}

// extractor checks that there is an extractor and that what it gives can complete the target.
func (c *checker) extractor(path string, constraint *evaluationv1.Constraint) {
	found := c.findExtractor(path+".extractor", constraint)
	fill := constraint.GetFillTo()
	if found == nil || fill != "tool_trace" && fill != "content" {
		return
	}
	names := found.names
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

// foundExtractor is what is known of an extractor. What one of a pack's own gives is only known
// when it is called: it has no names.
type foundExtractor struct{ names []string }

// findExtractor returns the extractor of a constraint, or nil after recording what is wrong with
// it.
func (c *checker) findExtractor(path string, constraint *evaluationv1.Constraint) *foundExtractor {
	name, text := constraint.GetExtractor(), constraint.GetExtractorExpression()
	switch {
	case name == "" && text == "":
		c.fail(path, "is empty, expected the name of an extractor or {cel: expression}")
	case name != "" && text != "":
		c.fail(path, "is both a name and an expression; keep one")
	case text != "":
		found, err := celexpr.CompileExtractor(text)
		if err == nil {
			return &foundExtractor{found.Names()}
		}
		c.fail(path, "%v", err)
	default:
		if found, ok := celexpr.BuiltIn(name); ok {
			return &foundExtractor{found.Names()}
		}
		if _, ok := c.opts.own.find(name, OfCall); ok {
			return &foundExtractor{}
		}
		c.fail(path, "%s", c.opts.own.unknown(name, OfCall))
	}
	return nil
}

// fillsText checks that a text has places for what an extractor gives, and for nothing else. Of one
// without names any will do.
func (c *checker) fillsText(path, text string, names []string) {
	given := strings.Join(names, ", ")
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
	if unknown, ok := template.Unknown(names); ok {
		c.fail(path, "has a place for %s, but the extractor gives %s", unknown, given)
	} else if len(template.Names) == 0 {
		c.fail(path, "has no place for what the extractor gives, which is %s; write {%s}", given, names[0])
	}
}

// fillsTrace checks that the wanted tools have arguments of the names that an extractor gives.
func (c *checker) fillsTrace(path, text string, names []string) {
	arguments := map[string]json.RawMessage{}
	for _, name := range names {
		arguments[name] = json.RawMessage("null")
	}
	for _, t := range traces(text) {
		if t.Tool != nil {
			c.arguments(path, *t.Tool, arguments, false)
		}
	}
}
