package score

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// namedValue is one extracted value.
type namedValue struct {
	name  string
	value python.Value
}

// extractor is a CEL extractor or a pack's Python extractor.
type extractor struct {
	cel    *celexpr.Extractor
	python *measure.Function
}

// extraction is the result of an extractor for a call.
type extraction struct {
	extractor    extractor
	alternatives [][]namedValue
	// problem is the error of an extraction without alternatives.
	problem error
}

// findExtractor returns the extractor of a constraint, by name or by expression.
func findExtractor(source *evaluationv1.Constraint, measures *measure.Set) (*extractor, error) {
	switch {
	case source.GetExtractor() != "" && source.GetExtractorExpression() != "":
		return nil, errors.New("both a name and an expression")
	case source.GetExtractorExpression() != "":
		compiled, err := celexpr.CompileExtractor(source.GetExtractorExpression())
		return &extractor{cel: compiled}, err
	}
	if builtin, ok := celexpr.BuiltIn(source.GetExtractor()); ok {
		return &extractor{cel: builtin}, nil
	}
	if fn := measures.Find(source.GetExtractor(), measure.Extractor); fn != nil {
		return &extractor{python: fn}, nil
	}
	return nil, fmt.Errorf("unknown extractor %q", source.GetExtractor())
}

// extract returns the result of an extractor for the call. It caches the result in the call.
func (p *preparedTrajectory) extract(c *call, from *extractor) *extraction {
	for i := range c.extracted {
		if c.extracted[i].extractor == *from {
			return &c.extracted[i]
		}
	}
	var alternatives [][]namedValue
	var err error
	if from.python != nil {
		if alternatives, err = p.packMeasures.extract(from.python, c); errors.Is(err, measure.ErrSteps) {
			p.packMeasures.recordFailure(err)
		}
	} else {
		alternatives, err = c.alternatives(from.cel)
	}
	c.extracted = append(c.extracted, extraction{*from, alternatives, err})
	return &c.extracted[len(c.extracted)-1]
}

// extractedNames returns the names of the constraint's extracted values, as far as they are known.
func (c *constraint) extractedNames() []string {
	switch {
	case c.extractor.cel != nil:
		return c.extractor.cel.Names()
	case c.template != nil:
		return c.template.Names
	}
	return []string{"values"}
}

// alternatives evaluates a CEL extractor.
func (c *call) alternatives(extractor *celexpr.Extractor) ([][]namedValue, error) {
	arguments, _ := measure.CELValue(c.arguments.Value()).(map[string]any)
	sets, err := extractor.Extract(celexpr.Trace{Tool: c.tool, Arguments: arguments, Result: measure.CELValue(c.result)})
	if err != nil {
		return nil, err
	}
	names := extractor.Names()
	alternatives := make([][]namedValue, len(sets))
	for i, set := range sets {
		alternatives[i] = make([]namedValue, len(set))
		for j, value := range set {
			alternatives[i][j] = namedValue{names[j], fromCEL(value)}
		}
	}
	return alternatives, nil
}

// fromCEL converts a value of a CEL expression.
func fromCEL(value any) python.Value {
	if whole, ok := value.(int64); ok {
		return python.Int(whole)
	}
	return python.ValueOf(value)
}

// parseTemplate parses a text with {name} placeholders. ok is false if it can never be completed:
// it has an unpaired brace or a placeholder that a CEL extractor does not return. The names of a
// Python extractor are unknown until it is called.
func parseTemplate(text string, from *extractor) (t template, ok bool) {
	parsed, err := celexpr.ParseTemplate(text)
	if err != nil {
		return t, false
	}
	if from.cel != nil {
		if _, unknown := parsed.FirstUnknown(from.cel.Names()); unknown {
			return t, false
		}
	}
	return template(parsed), true
}

// template is a text with placeholders for extracted values.
type template celexpr.Template

// canFill reports whether there is a value for each placeholder.
func (t *template) canFill(values []namedValue) bool {
	return !slices.ContainsFunc(t.Names, func(name string) bool {
		return !slices.ContainsFunc(values, func(v namedValue) bool { return v.name == name })
	})
}

// fill returns the text with the values in place of the placeholders.
func (t *template) fill(values []namedValue) string {
	var b strings.Builder
	for i, literal := range t.Literals {
		b.WriteString(literal)
		if i == len(t.Names) {
			break
		}
		for _, value := range values {
			if value.name == t.Names[i] {
				b.WriteString(format(value.value))
			}
		}
	}
	return b.String()
}

// format formats a value as Python's str does.
func format(v python.Value) string { return validUTF8(python.Text(v)) }
