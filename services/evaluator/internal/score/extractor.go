package score

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/python"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// named is one extracted value.
type named struct {
	name  string
	value python.Value
}

// extractor is one in CEL or one of the pack's own in Python.
type extractor struct {
	cel *celexpr.Extractor
	own *measure.Function
}

// extraction is what an extractor took from a call.
type extraction struct {
	extractor    extractor
	alternatives [][]named
	// problem says why there is no alternative.
	problem error
}

// findExtractor returns the extractor that a constraint names or writes out.
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
	if own := measures.Find(source.GetExtractor(), measure.Extractor); own != nil {
		return &extractor{own: own}, nil
	}
	return nil, fmt.Errorf("unknown extractor %q", source.GetExtractor())
}

// extract returns what an extractor takes from the call. It is asked for again at each message that
// is compared.
func (w *prepared) extract(c *call, from *extractor) *extraction {
	for i := range c.extracted {
		if c.extracted[i].extractor == *from {
			return &c.extracted[i]
		}
	}
	var alternatives [][]named
	var err error
	if from.own != nil {
		if alternatives, err = w.own.extract(from.own, c); errors.Is(err, measure.ErrSteps) {
			w.own.failed(err)
		}
	} else {
		alternatives, err = c.alternatives(from.cel)
	}
	c.extracted = append(c.extracted, extraction{*from, alternatives, err})
	return &c.extracted[len(c.extracted)-1]
}

// gives returns the names of the values that an extractor of the constraint gives, as far as they
// are known.
func (c *constraint) gives() []string {
	switch {
	case c.extractor.cel != nil:
		return c.extractor.cel.Names()
	case c.template != nil:
		return c.template.Names
	}
	return []string{"values"}
}

// alternatives evaluates an extractor.
func (c *call) alternatives(extractor *celexpr.Extractor) ([][]named, error) {
	arguments, _ := measure.Native(c.arguments.Value()).(map[string]any)
	sets, err := extractor.Extract(celexpr.Trace{Tool: c.tool, Arguments: arguments, Result: measure.Native(c.result)})
	if err != nil {
		return nil, err
	}
	names := extractor.Names()
	alternatives := make([][]named, len(sets))
	for i, set := range sets {
		alternatives[i] = make([]named, len(set))
		for j, value := range set {
			alternatives[i][j] = named{names[j], extracted(value)}
		}
	}
	return alternatives, nil
}

// extracted returns a value that an expression gave.
func extracted(value any) python.Value {
	if whole, ok := value.(int64); ok {
		return python.Int(whole)
	}
	return python.ValueOf(value)
}

// parseTemplate reads a text with {name} places. A text with an unpaired brace or with a place that
// the extractor does not give can never be completed, which is no mistake here: ok is false and
// nothing fits it. What one in Python gives is only known when it is called.
func parseTemplate(text string, from *extractor) (t template, ok bool) {
	parsed, err := celexpr.ParseTemplate(text)
	if err != nil {
		return t, false
	}
	if from.cel != nil {
		if _, unknown := parsed.Unknown(from.cel.Names()); unknown {
			return t, false
		}
	}
	return template(parsed), true
}

// template is a text with places for extracted values.
type template celexpr.Template

// takes says whether there is a value for each place.
func (t *template) takes(values []named) bool {
	return !slices.ContainsFunc(t.Names, func(name string) bool {
		return !slices.ContainsFunc(values, func(v named) bool { return v.name == name })
	})
}

// fill returns the text with the values in their places.
func (t *template) fill(values []named) string {
	var b strings.Builder
	for i, literal := range t.Literals {
		b.WriteString(literal)
		if i == len(t.Names) {
			break
		}
		for _, value := range values {
			if value.name == t.Names[i] {
				b.WriteString(printed(value.value))
			}
		}
	}
	return b.String()
}

// printed returns a value as Python prints it.
func printed(v python.Value) string { return plain(python.Text(v)) }
