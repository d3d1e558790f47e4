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
func (m *machine) toPython(v any, depth int) python.Value {
	if depth > limit.Depth {
		panic(tooDeep())
	}
	m.allocItems(1)
	switch v := v.(type) {
	case nil:
		return python.None()
	case bool:
		return python.Bool(v)
	case int:
		return python.Int(int64(v))
	case *big.Int:
		return python.BigInt(v)
	case float64:
		return python.Float(v)
	case string:
		m.alloc(len(v))
		return python.Str(v)
	case *dict:
		return m.dictToPython(v, depth)
	case *span:
		if m.host == nil {
			panic(unserializable(v))
		}
		return m.listToPython(v, depth)
	case *list, *tuple:
		return m.listToPython(v, depth)
	default:
		panic(unserializable(v))
	}
}

func unserializable(v any) error {
	return raise("TypeError", "Object of type %s is not JSON serializable", typeName(v))
}

func (m *machine) listToPython(v any, depth int) python.Value {
	items := m.collect(nil, v)
	values := make([]python.Value, len(items))
	for i, item := range items {
		values[i] = m.toPython(item, depth+1)
	}
	return python.List(values...)
}

func (m *machine) dictToPython(d *dict, depth int) python.Value {
	result := &python.Dict{}
	for _, e := range d.all() {
		value := m.toPython(e.value, depth+1)
		key, isText := e.key.(string)
		if !isText {
			if e.key != nil && !isNumber(e.key) {
				panic(raise("TypeError", "keys must be str, int, float, bool or None, not %s", typeName(e.key)))
			}
			key = python.JSON(m.toPython(e.key, 0))
		}
		m.alloc(len(key))
		result.Set(key, value)
	}
	return result.Value()
}

// fromPython copies a value of the host.
func (m *machine) fromPython(v python.Value) any {
	m.allocItems(1)
	switch v.Kind() {
	case python.KindBool:
		b, _ := v.AsBool()
		return b
	case python.KindInt:
		i, _ := v.AsBigInt()
		return fits(i)
	case python.KindFloat:
		f, _ := v.AsFloat()
		return f
	case python.KindStr:
		s, _ := v.AsStr()
		m.alloc(len(s))
		return s
	case python.KindList:
		items, _ := v.AsList()
		l := &list{make([]any, len(items))}
		for i, item := range items {
			l.items[i] = m.fromPython(item)
		}
		return l
	case python.KindDict:
		items, _ := v.AsDict()
		d := &dict{}
		for _, item := range items.Items() {
			m.put(&d.table, item.Key, m.fromPython(item.Value))
		}
		return d
	default:
		return nil
	}
}

// maxIndent is the largest indentation of JSON text.
const maxIndent = 16

// dumps is json.dumps, of whose options it knows indent, ensure_ascii, sort_keys and default, which
// it does not call.
func dumps(a *arguments) any {
	args := a.bind(1, "obj", "indent", "ensure_ascii", "default", "sort_keys")
	value := a.toPython(args[0], 0)
	if args[4] != absent && truth(args[4]) {
		value = a.sortKeys(value)
	}
	encode := python.ASCIIJSON
	if args[2] != absent && !truth(args[2]) {
		encode = python.JSON
	}
	if args[1] == absent || args[1] == nil {
		text := encode(value)
		a.alloc(len(text))
		return text
	}
	unit, ok := args[1].(string)
	if !ok {
		width := machineInt(args[1], true)
		unit = strings.Repeat(" ", min(max(0, width), maxIndent+1))
	}
	if len(unit) > maxIndent {
		panic(raise("ValueError", "indent must be at most %d here", maxIndent))
	}
	w := indented{machine: a.machine, encode: encode, unit: unit}
	w.value(value, 0)
	a.alloc(w.out.Len())
	return w.out.String()
}

// sortKeys sorts the keys of all dicts in a value.
func (m *machine) sortKeys(v python.Value) python.Value {
	if items, ok := v.AsList(); ok {
		sorted := make([]python.Value, len(items))
		for i, item := range items {
			sorted[i] = m.sortKeys(item)
		}
		m.allocItems(len(items))
		return python.List(sorted...)
	}
	d, ok := v.AsDict()
	if !ok {
		return v
	}
	keys := make([]any, d.Len())
	for i, item := range d.Items() {
		keys[i] = item.Key
	}
	(&arguments{machine: m}).sort(keys)
	result := &python.Dict{}
	for _, key := range keys {
		name, _ := key.(string)
		value, _ := d.Get(name)
		result.Set(name, m.sortKeys(value))
	}
	return result.Value()
}

// indented writes JSON text with line breaks.
type indented struct {
	*machine
	out    strings.Builder
	encode func(python.Value) string
	unit   string
}

func (w *indented) newline(depth int) {
	w.alloc(1 + depth*len(w.unit))
	w.out.WriteString("\n" + strings.Repeat(w.unit, depth))
}

func (w *indented) value(v python.Value, depth int) {
	dict, isDict := v.AsDict()
	list, _ := v.AsList()
	if dict.Len()+len(list) == 0 {
		w.out.WriteString(w.encode(v))
		return
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
		w.newline(depth + 1)
		item := python.Item{}
		if isDict {
			item = dict.Items()[i]
			w.out.WriteString(w.encode(python.Str(item.Key)) + ": ")
		} else {
			item.Value = list[i]
		}
		w.value(item.Value, depth+1)
	}
	w.newline(depth)
	w.out.WriteString(closing)
}

// loads is json.loads.
func loads(a *arguments) any {
	args := a.bind(1, "s")
	text, ok := args[0].(string)
	if !ok {
		panic(raise("TypeError", "the JSON object must be str, bytes or bytearray, not %s", typeName(args[0])))
	}
	a.allocItems(len(text))
	value, failure := python.ParseJSON(text)
	var exception *python.Exception
	switch {
	case errors.As(failure, &exception):
		panic(raise(exception.Type, "%s", exception.Text))
	case failure != nil:
		panic(raise("json.decoder.JSONDecodeError", "%s", failure.Error()))
	}
	return a.fromPython(value)
}
