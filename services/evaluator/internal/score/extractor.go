package score

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
	"github.com/toolsandbox/toolsandbox/internal/measure"
)

// named is one extracted value.
type named struct {
	name  string
	value datum
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
func findExtractor(source *Constraint, measures *measure.Set) (*extractor, error) {
	switch {
	case source.Extractor != "" && source.ExtractorExpression != "":
		return nil, errors.New("both a name and an expression")
	case source.ExtractorExpression != "":
		compiled, err := celexpr.CompileExtractor(source.ExtractorExpression)
		return &extractor{cel: compiled}, err
	}
	if builtin, ok := celexpr.BuiltIn(source.Extractor); ok {
		return &extractor{cel: builtin}, nil
	}
	if own := measures.Find(source.Extractor, measure.Extractor); own != nil {
		return &extractor{own: own}, nil
	}
	return nil, fmt.Errorf("unknown extractor %q", source.Extractor)
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
	result, err := parseDatum(c.result)
	if err != nil {
		return nil, err
	}
	arguments, _ := c.arguments.native().(map[string]any)
	sets, err := extractor.Extract(celexpr.Trace{Tool: c.tool, Arguments: arguments, Result: result.native()})
	if err != nil {
		return nil, err
	}
	names := extractor.Names()
	alternatives := make([][]named, len(sets))
	for i, set := range sets {
		alternatives[i] = make([]named, len(set))
		for j, value := range set {
			alternatives[i][j] = named{names[j], datumOf(value)}
		}
	}
	return alternatives, nil
}

// native returns the datum as an expression reads it. An integer of more than 64 bits becomes a
// float.
func (d *datum) native() any {
	switch d.kind {
	case datumBool:
		return d.number != 0
	case datumInteger:
		if whole, err := strconv.ParseInt(d.text, 10, 64); err == nil {
			return whole
		}
		return d.number
	case datumFloat:
		return d.number
	case datumString:
		return d.text
	case datumList:
		items := make([]any, len(d.items))
		for i := range d.items {
			items[i] = d.items[i].native()
		}
		return items
	case datumObject:
		members := make(map[string]any, len(d.names))
		for i, name := range d.names {
			members[name] = d.items[i].native()
		}
		return members
	case datumNull:
	}
	return nil
}

// datumOf returns a value that an expression gave.
func datumOf(value any) datum {
	switch v := value.(type) {
	case bool:
		return datum{kind: datumBool, number: truth(v)}
	case int64:
		return datum{kind: datumInteger, number: float64(v), text: strconv.FormatInt(v, 10)}
	case float64:
		return floatDatum(v)
	case string:
		return datum{kind: datumString, text: v}
	}
	return datum{}
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
				b.WriteString(printed(&value.value))
			}
		}
	}
	return b.String()
}

// printed returns a value as Python prints it.
func printed(d *datum) string {
	switch d.kind {
	case datumBool:
		if d.number != 0 {
			return "True"
		}
		return "False"
	case datumInteger, datumString:
		return d.text
	}
	switch {
	case math.IsNaN(d.number):
		return "nan"
	case math.IsInf(d.number, 1):
		return "inf"
	case math.IsInf(d.number, -1):
		return "-inf"
	}
	if size := math.Abs(d.number); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(d.number, 'e', -1, 64)
	}
	text := strconv.FormatFloat(d.number, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
