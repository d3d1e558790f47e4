package score

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/python"
)

// extraction is the result of an extractor for a call.
type extraction struct {
	extractor    *measure.Function
	alternatives [][]namedValue
	// key is a text that equal alternatives share.
	key []byte
	// problem is the error of an extraction without alternatives.
	problem error
}

// namedValue is one extracted value.
type namedValue struct {
	name  string
	value python.Value
}

// extract returns the result of an extractor for the call. It caches the result in the call.
func (p *preparedTrajectory) extract(c *call, from *measure.Function) *extraction {
	for i := range c.extracted {
		if c.extracted[i].extractor == from {
			return &c.extracted[i]
		}
	}
	alternatives, err := p.packMeasures.extract(from, c)
	if errors.Is(err, measure.ErrSteps) {
		p.packMeasures.recordFailure(err)
	}
	c.extracted = append(c.extracted, extraction{from, alternatives, alternativesKey(alternatives), err})
	return &c.extracted[len(c.extracted)-1]
}

// alternativesKey returns a text that only equal values share.
func alternativesKey(alternatives [][]namedValue) []byte {
	var key []byte
	for _, values := range alternatives {
		key = binary.AppendUvarint(key, uint64(len(values))+1)
		for _, value := range values {
			key = append(binary.AppendUvarint(key, uint64(len(value.name))), value.name...)
			key = append(python.AppendRepr(key, value.value), 0)
		}
	}
	return key
}

// extractedNames returns the names of the constraint's extracted values, as far as they are known.
func (c *constraint) extractedNames() []string {
	switch {
	case c.extractor.Names != nil:
		return c.extractor.Names
	case c.template != nil:
		return c.template.Names
	}
	return []string{"values"}
}

// template is a text with placeholders for extracted values.
type template measure.Template

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
