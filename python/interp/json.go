package interp

import (
	"errors"
	"math/big"
	"slices"
	"sort"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
)

// newJSON returns the module json.
func newJSON() *module {
	return &module{name: jsonModule, members: map[string]any{
		"dumps":           &builtin{name: "dumps", call: dumps},
		"loads":           &builtin{name: "loads", call: loads},
		"JSONDecodeError": exceptionClass("json.decoder.JSONDecodeError"),
	}}
}

// toPython copies a value for the host. Tuples and ranges become lists.
func (m *machine) toPython(v any, depth int) python.Value {
	if depth > limit.ValueDepth {
		panic(tooDeep())
	}
	m.allocItems(1)
	switch value := v.(type) {
	case nil, bool, int, *big.Int, float64:
		return python.ValueOf(v)
	case string:
		m.alloc(len(value))
		return python.ValueOf(v) // without a copy of the text's header
	case *dict:
		return m.dictToPython(value, depth)
	case *rangeValue:
		if m.host == nil {
			panic(unserializable(v))
		}
		return m.listToPython(v, depth)
	case *list, *tuple:
		return m.listToPython(v, depth)
	case *member:
		return m.toPython(value.value, depth+1)
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
	result.Grow(d.live)
	for _, e := range d.all() {
		value := m.toPython(e.value, depth+1)
		key, isText := plain(e.key).(string)
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

// fromPython copies a value from the host.
func (m *machine) fromPython(v python.Value) any {
	m.allocItems(1)
	held := v.Interface()
	switch v := held.(type) {
	case *big.Int:
		return checkSize(v)
	case string:
		m.alloc(len(v))
	case []python.Value:
		l := &list{make([]any, len(v))}
		for i, item := range v {
			l.items[i] = m.fromPython(item)
		}
		return l
	case *python.Dict:
		d := &dict{}
		d.grow(v.Len())
		for _, item := range v.Items() {
			m.put(&d.table, item.Key, m.fromPython(item.Value))
		}
		return d
	}
	return held
}

// maxIndent is the largest indentation that dumps accepts.
const maxIndent = 16

// dumps is json.dumps with the options indent, ensure_ascii, sort_keys and default. It never calls
// default.
func dumps(a *arguments) any {
	args := a.bind(1, "obj", "indent", "ensure_ascii", "default", "sort_keys")
	if truth(args[4]) {
		args[0] = a.sortKeys(args[0], 0)
	}
	value := a.toPython(args[0], 0)
	format := python.JSONFormat{
		ASCII: args[2] == absent || truth(args[2]), Multiline: orDefault(args[1], nil) != nil, MaxBytes: max(1, limit.Memory-a.memory),
	}
	if unit, ok := args[1].(string); ok {
		format.Indent = unit
	} else if format.Multiline {
		format.Indent = strings.Repeat(" ", min(max(0, machineInt(args[1], true)), maxIndent+1))
	}
	if len(format.Indent) > maxIndent {
		panic(raise("ValueError", "indent must be at most %d here", maxIndent))
	}
	text := format.Append(nil, value)
	a.alloc(len(text))
	return string(text)
}

// sortKeys returns a copy of a value whose dicts have their keys in order: that of the keys before
// they become texts.
func (m *machine) sortKeys(v any, depth int) any {
	if depth > limit.ValueDepth {
		panic(tooDeep())
	}
	switch v := v.(type) {
	case *list, *tuple:
		items := m.collect(nil, v)
		for i := range items {
			items[i] = m.sortKeys(items[i], depth+1)
		}
		return &list{items}
	case *dict:
		m.allocItems(2 * v.live)
		entries := slices.Clone(v.all())
		sort.SliceStable(entries, func(i, j int) bool { return m.less("<", entries[i].key, entries[j].key, 0) })
		sorted := &dict{}
		for _, e := range entries {
			sorted.put(e.hash, e.key, m.sortKeys(e.value, depth+1))
		}
		return sorted
	}
	return v
}

// loads is json.loads.
func loads(a *arguments) any {
	args := a.bind(1, "s")
	text := requireString(args[0], "the JSON object must be str, bytes or bytearray, not %s")
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
