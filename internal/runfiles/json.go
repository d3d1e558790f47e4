package runfiles

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

// object is a JSON object with ordered members.
type object []member

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) { return compact(o) }

// rawJSON is JSON without spaces for embedding.
type rawJSON []byte

// compact encodes without spaces and with minimal escapes.
func compact(v any) ([]byte, error) { return write(v, "") }

// encode encodes as the original does: indented, with minimal escapes, without a trailing newline.
func encode(v any, indent string) ([]byte, error) { return write(v, indent) }

func write(v any, indent string) ([]byte, error) {
	var out bytes.Buffer
	p := printer{out: &out, leaves: json.NewEncoder(&out), indent: indent}
	p.leaves.SetEscapeHTML(false)
	if err := p.value(v); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// printer writes a document in one pass. encoding/json would copy each object once per enclosing
// object.
type printer struct {
	out    *bytes.Buffer
	leaves *json.Encoder // writes to out
	indent string        // empty for output without spaces
	depth  int
}

func (p *printer) value(v any) error {
	switch v := v.(type) {
	case object:
		return p.list('{', '}', len(v), func(i int) error {
			if err := p.leaf(v[i].key); err != nil {
				return err
			}
			p.out.WriteByte(':')
			if p.indent != "" {
				p.out.WriteByte(' ')
			}
			return p.value(v[i].value)
		})
	case []any:
		return list(p, v)
	case []object:
		return list(p, v)
	case rawJSON:
		return p.raw(v)
	case nil, string, *string, bool, json.Number, int, int32, int64:
		return p.leaf(v)
	}
	raw, err := p.other(v)
	if err != nil {
		return err
	}
	return p.raw(raw)
}

// list writes a slice. A nil one is null.
func list[T any](p *printer, values []T) error {
	if values == nil {
		return p.leaf(nil)
	}
	return p.list('[', ']', len(values), func(i int) error { return p.value(values[i]) })
}

func (p *printer) list(open, end byte, n int, each func(i int) error) error {
	p.out.WriteByte(open)
	p.depth++
	for i := range n {
		if i > 0 {
			p.out.WriteByte(',')
		}
		p.line()
		if err := each(i); err != nil {
			return err
		}
	}
	p.depth--
	if n > 0 {
		p.line()
	}
	p.out.WriteByte(end)
	return nil
}

// line starts a new line if the output is indented.
func (p *printer) line() {
	if p.indent == "" {
		return
	}
	p.out.WriteByte('\n')
	for range p.depth {
		p.out.WriteString(p.indent)
	}
}

// leaf writes a scalar.
func (p *printer) leaf(v any) error {
	if err := p.leaves.Encode(v); err != nil {
		return err
	}
	p.out.Truncate(p.out.Len() - len("\n"))
	return nil
}

// other encodes a value of another type.
func (p *printer) other(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// raw writes encoded JSON.
func (p *printer) raw(raw []byte) error {
	if p.indent != "" {
		return json.Indent(p.out, raw, strings.Repeat(p.indent, p.depth), p.indent)
	}
	_, err := p.out.Write(raw)
	return err
}

// float formats a number as Python prints a float. A non-finite number becomes null.
func float(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return json.Number(pythonFloat(f))
}

// pythonFloat implements Python's repr of a finite float.
func pythonFloat(f float64) string {
	if abs := math.Abs(f); f != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64) // Go and Python both give exponents two digits or more
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// cellValue converts a cell to JSON data.
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
