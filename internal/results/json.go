package results

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// member is one entry of an object.
type member struct {
	key   string
	value any
}

// object is a JSON object whose members keep their order.
type object []member

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		key, err := compact(m.key)
		if err != nil {
			return nil, err
		}
		value, err := compact(m.value)
		if err != nil {
			return nil, err
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// compact encodes without spaces and escapes no more than JSON demands.
func compact(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// encode writes a document as the original does: indented, no escapes beyond what JSON demands, no newline at the end.
func encode(v any, indent string) ([]byte, error) {
	raw, err := compact(v)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", indent); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// float spells a number as Python prints a float; a number that JSON lacks becomes null.
func float(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return json.Number(floatText(f))
}

// floatText is Python's repr of a finite float.
func floatText(f float64) string {
	if abs := math.Abs(f); f != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64) // Go and Python both give exponents two digits or more
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// cellValue returns a cell as JSON data.
func cellValue(v *worldv1.Value) any {
	switch kind := v.GetKind().(type) {
	case *worldv1.Value_Boolean:
		return kind.Boolean
	case *worldv1.Value_Number:
		return float(kind.Number)
	case *worldv1.Value_Text:
		return kind.Text
	default:
		return nil
	}
}
