package resultfile

import (
	"encoding/json"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// member is one entry of an object.
type member struct {
	key   string
	value any
}

// object is a JSON object with ordered members.
type object []member

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	v, err := valueOf(o)
	return python.AppendJSON(nil, v), err
}

// encodeDocument encodes objects and lists as the original does: indented, with minimal escapes,
// without a trailing newline.
func encodeDocument(v any, indent string) ([]byte, error) {
	value, err := valueOf(v)
	return python.JSONFormat{Multiline: true, Indent: indent}.Append(nil, value), err
}

// valueOf returns a tree of objects and lists as a value. Anything else is what its JSON says.
func valueOf(v any) (python.Value, error) {
	switch v := v.(type) {
	case python.Value:
		return v, nil
	case nil, bool, string, int:
		return python.ValueOf(v), nil
	case int32:
		return python.Int(int64(v)), nil
	case *string:
		if v == nil {
			return python.None(), nil
		}
		return python.Str(*v), nil
	case object:
		dict := &python.Dict{}
		for _, m := range v {
			value, err := valueOf(m.value)
			if err != nil {
				return python.Value{}, err
			}
			dict.Set(m.key, value)
		}
		return dict.Value(), nil
	case []any:
		if v == nil {
			return python.None(), nil
		}
		items := make([]python.Value, len(v))
		for i := range v {
			var err error
			if items[i], err = valueOf(v[i]); err != nil {
				return python.Value{}, err
			}
		}
		return python.List(items...), nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return python.Value{}, err
	}
	return python.ParseJSON(raw)
}

// cellValue returns a cell as JSON data.
func cellValue(v *worldv1.Value) python.Value { return Finite(world.CellValue(v)) }

// Finite returns a value, null for one that JSON cannot hold: with a number that is not finite.
func Finite(v python.Value) python.Value {
	if _, found := python.NonFinite(v); found {
		return python.None()
	}
	return v
}
