package source

import (
	"errors"
	"strings"

	"go.starlark.net/starlark"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// dictMethod returns a method of a dict. keys, values and items are lists.
func (r *run) dictMethod(dict *starlark.Dict, name string) function {
	params, required := map[string][]string{
		"get": {"key", "default"}, "pop": {"key", "default"}, "setdefault": {"key", "default"}, "keys": {}, "values": {},
		"items": {}, "clear": {}, "copy": {}, "popitem": {},
	}[name], map[string]int{"get": 1, "pop": 1, "setdefault": 1}[name]
	if name == "update" {
		return func(a arguments) (starlark.Value, error) {
			more, err := r.newDict(a)
			if err != nil {
				return nil, err
			}
			return starlark.None, r.update(dict, more)
		}
	}
	if params == nil {
		return nil
	}
	return func(a arguments) (starlark.Value, error) {
		args, err := a.bind(required, params...)
		if err != nil {
			return nil, err
		}
		switch name {
		case "get", "pop", "setdefault":
			return r.access(dict, args[0], args[1], name)
		case "clear":
			return starlark.None, dict.Clear()
		case "copy":
			return r.merge(dict, starlark.NewDict(0))
		}
		if err := r.allocItems(2 * dict.Len()); err != nil {
			return nil, err
		}
		items := dict.Items()
		if name == "popitem" {
			if len(items) == 0 {
				return nil, raise("KeyError", "'popitem(): dictionary is empty'")
			}
			last := items[len(items)-1]
			_, _, err := dict.Delete(last[0])
			return last, err
		}
		list := make([]starlark.Value, len(items))
		for i, item := range items {
			switch name {
			case "keys":
				list[i] = item[0]
			case "values":
				list[i] = item[1]
			default:
				list[i] = item
			}
		}
		return starlark.NewList(list), nil
	}
}

// access is get, pop and setdefault.
func (r *run) access(dict *starlark.Dict, key, otherwise starlark.Value, name string) (starlark.Value, error) {
	key, err := r.key(key)
	if err != nil {
		return nil, err
	}
	value, found, err := dict.Get(key)
	if err != nil {
		return nil, err
	}
	switch {
	case found && name == "pop":
		_, _, err := dict.Delete(key)
		return value, err
	case found:
		return value, nil
	case otherwise == nil && name == "pop":
		return r.lookup(dict, key)
	case otherwise == nil:
		otherwise = starlark.None
	}
	if name == "setdefault" {
		return otherwise, r.set(dict, key, otherwise)
	}
	return otherwise, nil
}

// module is a module of Python: a few functions.
type module struct {
	name    string
	members map[string]function
}

func (m *module) String() string        { return "<module '" + m.name + "'>" }
func (m *module) Type() string          { return "module" }
func (m *module) Freeze()               {}
func (m *module) Truth() starlark.Bool  { return true }
func (m *module) Hash() (uint32, error) { return starlark.String(m.name).Hash() }

// maxIndent is the largest indentation of JSON text.
const maxIndent = 16

// dumps is json.dumps, of whose options it knows indent and ensure_ascii.
func (r *run) dumps(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "obj", "indent", "ensure_ascii", "default")
	if err != nil {
		return nil, err
	}
	value, err := r.toPython(args[0], 0)
	if err != nil {
		return nil, err
	}
	encode := python.ASCIIJSON
	if args[2] != nil && !bool(args[2].Truth()) {
		encode = python.JSON
	}
	var text string
	if args[1] == nil || args[1] == starlark.None {
		text = encode(value)
	} else {
		width, err := starlark.AsInt32(args[1])
		if err != nil || width < 0 || width > maxIndent {
			return nil, raisef("ValueError", "indent must be an int of 0 to %d here", maxIndent)
		}
		w := indented{run: r, encode: encode, width: width}
		if err := w.value(value, 0); err != nil {
			return nil, err
		}
		text = w.out.String()
	}
	return starlark.String(text), r.alloc(len(text))
}

// indented writes JSON text with line breaks.
type indented struct {
	run    *run
	out    strings.Builder
	encode func(python.Value) string
	width  int
}

func (w *indented) value(v python.Value, depth int) error {
	dict, isDict := v.AsDict()
	list, _ := v.AsList()
	if dict.Len()+len(list) == 0 {
		w.out.WriteString(w.encode(v))
		return nil
	}
	newline := func(depth int) error {
		if err := w.run.alloc(depth * w.width); err != nil {
			return err
		}
		w.out.WriteString("\n" + strings.Repeat(" ", depth*w.width))
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
		if err := newline(depth + 1); err != nil {
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
	if err := newline(depth); err != nil {
		return err
	}
	w.out.WriteString(closing)
	return nil
}

// loads is json.loads.
func (r *run) loads(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "s")
	if err != nil {
		return nil, err
	}
	text, ok := args[0].(starlark.String)
	if !ok {
		return nil, raisef("TypeError", "the JSON object must be str, bytes or bytearray, not %s", typeName(args[0]))
	}
	if err := r.allocItems(len(text)); err != nil { // each byte may begin an item
		return nil, err
	}
	value, err := python.ParseJSON(string(text))
	var exception *python.Exception
	if errors.As(err, &exception) {
		return nil, err
	}
	if err != nil {
		return nil, raise("json.decoder.JSONDecodeError", err.Error())
	}
	return r.fromPython(value)
}
