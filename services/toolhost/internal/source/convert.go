package source

import (
	"go.starlark.net/starlark"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// typeName returns the name of a value's type in Python.
func typeName(v starlark.Value) string {
	switch v := v.(type) {
	case starlark.String:
		return "str"
	case *starlark.Builtin:
		if v.Receiver() != nil {
			return "builtin_function_or_method"
		}
		return "function"
	case *class:
		return "type"
	default:
		return v.Type() // NoneType, bool, int, float, list, dict, tuple, function, range, module
	}
}

func tooDeep() error { return raise("RecursionError", "maximum recursion depth exceeded") }

// toPython copies a value; a tuple becomes a list.
func (r *run) toPython(v starlark.Value, depth int) (python.Value, error) {
	if depth > maxDepth {
		return python.Value{}, tooDeep()
	}
	if err := r.allocItems(1); err != nil {
		return python.Value{}, err
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return python.None(), nil
	case starlark.Bool:
		return python.Bool(bool(v)), nil
	case starlark.Int:
		return python.BigInt(v.BigInt()), nil
	case starlark.Float:
		return python.Float(float64(v)), nil
	case starlark.String:
		return python.Str(string(v)), nil
	case *starlark.Dict:
		dict := &python.Dict{}
		for _, item := range v.Items() {
			value, err := r.toPython(item[1], depth+1)
			if err != nil {
				return python.Value{}, err
			}
			key, err := r.jsonKey(item[0])
			if err != nil {
				return python.Value{}, err
			}
			dict.Set(key, value)
		}
		return dict.Value(), nil
	case starlark.Sequence: // list, tuple, range
		if err := r.allocItems(v.Len()); err != nil {
			return python.Value{}, err
		}
		items := make([]python.Value, 0, v.Len())
		iterator := v.Iterate()
		defer iterator.Done()
		for item := starlark.Value(nil); iterator.Next(&item); {
			value, err := r.toPython(item, depth+1)
			if err != nil {
				return python.Value{}, err
			}
			items = append(items, value)
		}
		return python.List(items...), nil
	default:
		return python.Value{}, raisef("TypeError", "Object of type %s is not JSON serializable", typeName(v))
	}
}

// jsonKey returns a dict's key as JSON has it.
func (r *run) jsonKey(key starlark.Value) (string, error) {
	switch key := key.(type) {
	case starlark.String:
		return string(key), nil
	case starlark.NoneType, starlark.Bool, starlark.Int, starlark.Float:
		value, err := r.toPython(key, 0)
		return python.JSON(value), err
	default:
		return "", raisef("TypeError", "keys must be str, int, float, bool or None, not %s", typeName(key))
	}
}

// fromPython copies a value.
func (r *run) fromPython(v python.Value) (starlark.Value, error) {
	if err := r.allocItems(1); err != nil {
		return nil, err
	}
	switch v.Kind() {
	case python.KindBool:
		b, _ := v.AsBool()
		return starlark.Bool(b), nil
	case python.KindInt:
		i, _ := v.AsBigInt()
		return starlark.MakeBigInt(i), nil
	case python.KindFloat:
		f, _ := v.AsFloat()
		return starlark.Float(f), nil
	case python.KindStr:
		s, _ := v.AsStr()
		return starlark.String(s), r.alloc(len(s))
	case python.KindList:
		items, _ := v.AsList()
		values := make([]starlark.Value, len(items))
		for i, item := range items {
			var err error
			if values[i], err = r.fromPython(item); err != nil {
				return nil, err
			}
		}
		return starlark.NewList(values), nil
	case python.KindDict:
		items, _ := v.AsDict()
		dict := starlark.NewDict(items.Len())
		for _, item := range items.Items() {
			value, err := r.fromPython(item.Value)
			if err != nil {
				return nil, err
			}
			if err := dict.SetKey(starlark.String(item.Key), value); err != nil {
				return nil, err
			}
		}
		return dict, nil
	default:
		return starlark.None, nil
	}
}
