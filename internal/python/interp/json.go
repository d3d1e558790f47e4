package interp

import (
	"errors"
	"math/big"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/python/limit"
)

// newJSON returns the module json.
func newJSON() *module {
	return &module{name: jsonModule, members: map[string]any{
		"dumps":           &builtin{name: "dumps", call: dumps},
		"loads":           &builtin{name: "loads", call: loads},
		"JSONDecodeError": exceptionClass("json.decoder.JSONDecodeError"),
	}}
}

// toPython copies a value for the host; tuples and sets become lists.
func (m *machine) toPython(v any, depth int) (python.Value, error) {
	if depth > limit.Depth {
		return python.Value{}, tooDeep()
	}
	if err := m.allocItems(1); err != nil {
		return python.Value{}, err
	}
	switch v := v.(type) {
	case nil:
		return python.None(), nil
	case bool:
		return python.Bool(v), nil
	case int:
		return python.Int(int64(v)), nil
	case *big.Int:
		return python.BigInt(v), nil
	case float64:
		return python.Float(v), nil
	case string:
		return python.Str(v), m.alloc(len(v))
	case *dict:
		return m.dictToPython(v, depth)
	case *span:
		if m.host == nil {
			return python.Value{}, unserializable(v)
		}
		return m.listToPython(v, depth)
	case *list, *tuple:
		return m.listToPython(v, depth)
	default:
		return python.Value{}, unserializable(v)
	}
}

func unserializable(v any) error {
	return raise("TypeError", "Object of type %s is not JSON serializable", typeName(v))
}

func (m *machine) listToPython(v any, depth int) (python.Value, error) {
	items, err := m.collect(nil, v)
	if err != nil {
		return python.Value{}, err
	}
	values := make([]python.Value, len(items))
	for i, item := range items {
		if values[i], err = m.toPython(item, depth+1); err != nil {
			return python.Value{}, err
		}
	}
	return python.List(values...), nil
}

func (m *machine) dictToPython(d *dict, depth int) (python.Value, error) {
	result := &python.Dict{}
	for _, e := range d.all() {
		value, err := m.toPython(e.value, depth+1)
		if err != nil {
			return python.Value{}, err
		}
		key, isText := e.key.(string)
		if !isText {
			if e.key != nil && !isNumber(e.key) {
				return python.Value{}, raise("TypeError", "keys must be str, int, float, bool or None, not %s", typeName(e.key))
			}
			number, err := m.toPython(e.key, 0)
			if err != nil {
				return python.Value{}, err
			}
			key = python.JSON(number)
		}
		if err := m.alloc(len(key)); err != nil {
			return python.Value{}, err
		}
		result.Set(key, value)
	}
	return result.Value(), nil
}

// fromPython copies a value of the host.
func (m *machine) fromPython(v python.Value) (any, error) {
	if err := m.allocItems(1); err != nil {
		return nil, err
	}
	switch v.Kind() {
	case python.KindBool:
		b, _ := v.AsBool()
		return b, nil
	case python.KindInt:
		i, _ := v.AsBigInt()
		return fits(i)
	case python.KindFloat:
		f, _ := v.AsFloat()
		return f, nil
	case python.KindStr:
		s, _ := v.AsStr()
		return s, m.alloc(len(s))
	case python.KindList:
		items, _ := v.AsList()
		l := &list{make([]any, len(items))}
		for i, item := range items {
			var err error
			if l.items[i], err = m.fromPython(item); err != nil {
				return nil, err
			}
		}
		return l, nil
	case python.KindDict:
		items, _ := v.AsDict()
		d := &dict{}
		for _, item := range items.Items() {
			value, err := m.fromPython(item.Value)
			if err != nil {
				return nil, err
			}
			if err := m.put(&d.table, item.Key, value); err != nil {
				return nil, err
			}
		}
		return d, nil
	default:
		return nil, nil
	}
}

// maxIndent is the largest indentation of JSON text.
const maxIndent = 16

// dumps is json.dumps, of whose options it knows indent, ensure_ascii, sort_keys and default, which
// it does not call.
func dumps(a *arguments) (any, error) {
	args, err := a.bind(1, "obj", "indent", "ensure_ascii", "default", "sort_keys")
	if err != nil {
		return nil, err
	}
	value, err := a.toPython(args[0], 0)
	if err != nil {
		return nil, err
	}
	if args[4] != absent && truth(args[4]) {
		if value, err = a.sortKeys(value); err != nil {
			return nil, err
		}
	}
	encode := python.ASCIIJSON
	if args[2] != absent && !truth(args[2]) {
		encode = python.JSON
	}
	if args[1] == absent || args[1] == nil {
		text := encode(value)
		return text, a.alloc(len(text))
	}
	unit, ok := args[1].(string)
	if !ok {
		width, err := machineInt(args[1], true)
		if err != nil {
			return nil, err
		}
		unit = strings.Repeat(" ", min(max(0, width), maxIndent+1))
	}
	if len(unit) > maxIndent {
		return nil, raise("ValueError", "indent must be at most %d here", maxIndent)
	}
	w := indented{machine: a.machine, encode: encode, unit: unit}
	if err := w.value(value, 0); err != nil {
		return nil, err
	}
	return w.out.String(), a.alloc(w.out.Len())
}

// sortKeys sorts the keys of all dicts in a value.
func (m *machine) sortKeys(v python.Value) (python.Value, error) {
	if items, ok := v.AsList(); ok {
		sorted := make([]python.Value, len(items))
		for i, item := range items {
			var err error
			if sorted[i], err = m.sortKeys(item); err != nil {
				return v, err
			}
		}
		return python.List(sorted...), m.allocItems(len(items))
	}
	d, ok := v.AsDict()
	if !ok {
		return v, nil
	}
	keys := make([]any, d.Len())
	for i, item := range d.Items() {
		keys[i] = item.Key
	}
	if err := (&arguments{machine: m}).sort(keys); err != nil {
		return v, err
	}
	result := &python.Dict{}
	for _, key := range keys {
		name, _ := key.(string)
		value, _ := d.Get(name)
		sorted, err := m.sortKeys(value)
		if err != nil {
			return v, err
		}
		result.Set(name, sorted)
	}
	return result.Value(), nil
}

// indented writes JSON text with line breaks.
type indented struct {
	*machine
	out    strings.Builder
	encode func(python.Value) string
	unit   string
}

func (w *indented) newline(depth int) error {
	if err := w.alloc(1 + depth*len(w.unit)); err != nil {
		return err
	}
	w.out.WriteString("\n" + strings.Repeat(w.unit, depth))
	return nil
}

func (w *indented) value(v python.Value, depth int) error {
	dict, isDict := v.AsDict()
	list, _ := v.AsList()
	if dict.Len()+len(list) == 0 {
		w.out.WriteString(w.encode(v))
		return nil
	}
	open, closing := "[", "]"
	if isDict {
		open, closing = "{", "}"
	}
	w.out.WriteString(open)
	for i := range dict.Len() + len(list) {
		if i > 0 {
			w.out.WriteString(",")
		}
		if err := w.newline(depth + 1); err != nil {
			return err
		}
		item := python.Item{}
		if isDict {
			item = dict.Items()[i]
			w.out.WriteString(w.encode(python.Str(item.Key)) + ": ")
		} else {
			item.Value = list[i]
		}
		if err := w.value(item.Value, depth+1); err != nil {
			return err
		}
	}
	if err := w.newline(depth); err != nil {
		return err
	}
	w.out.WriteString(closing)
	return nil
}

// loads is json.loads.
func loads(a *arguments) (any, error) {
	args, err := a.bind(1, "s")
	if err != nil {
		return nil, err
	}
	text, ok := args[0].(string)
	if !ok {
		return nil, raise("TypeError", "the JSON object must be str, bytes or bytearray, not %s", typeName(args[0]))
	}
	if err := a.allocItems(len(text)); err != nil { // each byte may begin an item
		return nil, err
	}
	value, err := python.ParseJSON(text)
	var failure *python.Exception
	if errors.As(err, &failure) {
		return nil, raise(failure.Type, "%s", failure.Text)
	}
	if err != nil {
		return nil, raise("json.decoder.JSONDecodeError", "%s", err.Error())
	}
	return a.fromPython(value)
}
