package computed

import (
	"math/rand/v2"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/parameter"
	"github.com/toolsandbox/toolsandbox/python"
)

const (
	// maxDepth bounds the nesting of generated objects and arrays.
	maxDepth = 4
	maxItems = 3
)

// drawer draws values that match a JSON Schema.
type drawer struct {
	*rand.Rand
	words []string
}

// arguments returns a JSON object that matches a schema of type object. An invalid schema counts as
// one without properties.
func (d drawer) arguments(schema string) string {
	parsed, err := python.ParseJSON(schema)
	if err != nil {
		return "{}"
	}
	return python.JSON(d.object(parsed, 0))
}

// object draws every required property, and each other one with a probability of one half.
func (d drawer) object(schema python.Value, depth int) python.Value {
	result := &python.Dict{}
	for _, p := range parameter.Of(schema) {
		if p.Name != "" && (p.Required || d.IntN(2) == 0) {
			result.Set(p.Name, d.value(p.Schema, depth+1))
		}
	}
	return result.Value()
}

// value draws a value of the schema's type, or of any scalar type without one.
func (d drawer) value(schema python.Value, depth int) python.Value {
	if choices, _ := schema.Field("enum").AsList(); len(choices) > 0 {
		return choices[d.IntN(len(choices))]
	}
	if alternatives, _ := schema.Field("anyOf").AsList(); len(alternatives) > 0 && depth < maxDepth {
		return d.value(alternatives[d.IntN(len(alternatives))], depth+1)
	}
	switch kind := d.kind(schema.Field("type")); {
	case kind == "boolean":
		return python.Bool(d.IntN(2) == 0)
	case kind == "integer":
		return python.Int(d.integer())
	case kind == "number":
		return python.Float(d.number())
	case kind == "null":
		return python.None()
	case kind == "object" && depth < maxDepth:
		return d.object(schema, depth)
	case kind == "array" && depth < maxDepth:
		items := make([]python.Value, d.IntN(maxItems))
		for i := range items {
			items[i] = d.value(schema.Field("items"), depth+1)
		}
		return python.List(items...)
	case kind == "object":
		return python.DictOf()
	case kind == "array":
		return python.List()
	default:
		return python.Str(d.words[d.IntN(len(d.words))])
	}
}

// kind returns a type name: the given one, one of the given list, or any scalar one.
func (d drawer) kind(declared python.Value) string {
	if kind, ok := declared.AsStr(); ok {
		return kind
	}
	if kinds, _ := declared.AsList(); len(kinds) > 0 {
		kind, _ := kinds[d.IntN(len(kinds))].AsStr()
		return kind
	}
	return [...]string{"string", "boolean", "integer", "number"}[d.IntN(4)]
}

// integer draws an integer of the view, or a small one.
func (d drawer) integer() int64 {
	if seen, err := strconv.ParseInt(d.words[d.IntN(len(d.words))], 10, 64); err == nil {
		return seen
	}
	return d.Int64N(120) - 20
}

// number draws a number of the view, a small one, or one in the range of POSIX times.
func (d drawer) number() float64 {
	if seen, err := strconv.ParseFloat(d.words[d.IntN(len(d.words))], 64); err == nil && seen-seen == 0 {
		return seen
	}
	if d.IntN(2) == 0 {
		return float64(d.IntN(36000)-18000) / 100
	}
	return float64(1_600_000_000 + d.IntN(200_000_000))
}
