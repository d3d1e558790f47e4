package score

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
)

// named is one extracted value.
type named struct {
	name  string
	value datum
}

// extraction is what an extractor took from a call.
type extraction struct {
	extractor    *celexpr.Extractor
	alternatives [][]named
	// problem says why there is no alternative.
	problem error
}

// findExtractor returns the extractor that a constraint names or writes out.
func findExtractor(source *Constraint) (*celexpr.Extractor, error) {
	switch {
	case source.Extractor != "" && source.ExtractorExpression != "":
		return nil, errors.New("both a name and an expression")
	case source.ExtractorExpression != "":
		return celexpr.CompileExtractor(source.ExtractorExpression)
	}
	if extractor, ok := celexpr.BuiltIn(source.Extractor); ok {
		return extractor, nil
	}
	return nil, fmt.Errorf("unknown extractor %q", source.Extractor)
}

// extract returns what an extractor takes from the call. It is asked for again at each message that
// is compared.
func (c *call) extract(extractor *celexpr.Extractor) *extraction {
	for i := range c.extracted {
		if c.extracted[i].extractor == extractor {
			return &c.extracted[i]
		}
	}
	alternatives, err := c.alternatives(extractor)
	c.extracted = append(c.extracted, extraction{extractor, alternatives, err})
	return &c.extracted[len(c.extracted)-1]
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
// known does not list can never be completed, which is no mistake here: ok is false and nothing
// fits it.
func parseTemplate(text string, known []string) (t template, ok bool) {
	parsed, err := celexpr.ParseTemplate(text)
	if err != nil {
		return t, false
	}
	if _, unknown := parsed.Unknown(known); unknown {
		return t, false
	}
	return template(parsed), true
}

// template is a text with places for extracted values.
type template celexpr.Template

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
