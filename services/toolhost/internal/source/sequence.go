package source

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
)

func (r *run) enumerate(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "iterable", "start")
	if err != nil {
		return nil, err
	}
	items, err := r.items(args[0])
	if err != nil {
		return nil, err
	}
	next := starlark.MakeInt(0)
	if args[1] != nil {
		start, _, isFloat, ok := number(args[1])
		if !ok || isFloat {
			return nil, raisef("TypeError", "'%s' object cannot be interpreted as an integer", typeName(args[1]))
		}
		next = start
	}
	if err := r.allocItems(len(items)); err != nil {
		return nil, err
	}
	for i, item := range items {
		items[i] = starlark.Tuple{next, item}
		next = next.Add(starlark.MakeInt(1))
	}
	return starlark.NewList(items), nil
}

func (r *run) zip(a arguments) (starlark.Value, error) {
	if len(a.keyword) > 0 {
		return nil, raise("TypeError", "zip() takes no keyword arguments")
	}
	columns, n := make([][]starlark.Value, len(a.positional)), 0
	for i, arg := range a.positional {
		var err error
		if columns[i], err = r.items(arg); err != nil {
			return nil, err
		}
		if i == 0 || len(columns[i]) < n {
			n = len(columns[i])
		}
	}
	if err := r.allocItems(n * (1 + len(columns))); err != nil {
		return nil, err
	}
	rows := make([]starlark.Value, n)
	for i := range rows {
		row := make(starlark.Tuple, len(columns))
		for j := range columns {
			row[j] = columns[j][i]
		}
		rows[i] = row
	}
	return starlark.NewList(rows), nil
}

// mapFilter is map of one sequence, and filter.
func (r *run) mapFilter(a arguments) (starlark.Value, error) {
	args, err := a.bind(2, "function", "iterable")
	if err != nil {
		return nil, err
	}
	items, err := r.items(args[1])
	if err != nil {
		return nil, err
	}
	results, err := r.keyed(items, args[0])
	if err != nil || a.name == "map" {
		return starlark.NewList(results), err
	}
	var kept []starlark.Value
	for i, item := range items {
		if results[i].Truth() {
			kept = append(kept, item)
		}
	}
	return starlark.NewList(kept), nil
}

func (r *run) isInstance(a arguments) (starlark.Value, error) {
	args, err := a.bind(2, "obj", "class_or_tuple")
	if err != nil {
		return nil, err
	}
	classes, ok := args[1].(starlark.Tuple)
	if !ok {
		classes = starlark.Tuple{args[1]}
	}
	for _, v := range classes {
		c, ok := v.(*class)
		if !ok {
			return nil, raise("TypeError", "isinstance() arg 2 must be a type or tuple of types")
		}
		if name := typeName(args[0]); name == c.name || name == "bool" && c.name == "int" {
			return starlark.True, nil
		}
	}
	return starlark.False, nil
}

func (r *run) newStr(a arguments) (starlark.Value, error) {
	args, err := a.bind(0, "object")
	if err != nil || args[0] == nil {
		return starlark.String(""), err
	}
	text, err := r.str(args[0])
	return starlark.String(text), err
}

func newBool(a arguments) (starlark.Value, error) {
	args, err := a.bind(0, "x")
	if err != nil || args[0] == nil {
		return starlark.False, err
	}
	return args[0].Truth(), nil
}

func (r *run) newInt(a arguments) (starlark.Value, error) {
	args, err := a.bind(0, "x", "base")
	if err != nil || args[0] == nil {
		return starlark.MakeInt(0), err
	}
	text, isText := args[0].(starlark.String)
	if !isText {
		i, f, isFloat, ok := number(args[0])
		switch {
		case !ok:
			return nil, raisef("TypeError", "int() argument must be a string, a bytes-like object or a number, not '%s'", typeName(args[0]))
		case isFloat:
			return truncate(f)
		}
		return i, nil
	}
	base := 10
	if args[1] != nil {
		if base, err = starlark.AsInt32(args[1]); err != nil || base != 0 && (base < 2 || base > 36) {
			return nil, raise("ValueError", "int() base must be >= 2 and <= 36, or 0")
		}
	}
	digits := strings.TrimSpace(string(text))
	if len(digits) > maxDigits+1 {
		return nil, raisef("ValueError", "Exceeds the limit (%d) for integer string conversion", maxDigits)
	}
	i, ok := new(big.Int).SetString(strings.ReplaceAll(digits, "_", ""), base)
	if !ok || strings.HasPrefix(digits, "_") || strings.HasSuffix(digits, "_") || strings.Contains(digits, "__") {
		shown, err := r.repr(text)
		if err != nil {
			return nil, err
		}
		return nil, raisef("ValueError", "invalid literal for int() with base %d: %s", base, shown)
	}
	return fits(starlark.MakeBigInt(i))
}

func (r *run) newFloat(a arguments) (starlark.Value, error) {
	args, err := a.bind(0, "x")
	if err != nil || args[0] == nil {
		return starlark.Float(0), err
	}
	text, isText := args[0].(starlark.String)
	if !isText {
		i, f, isFloat, ok := number(args[0])
		switch {
		case !ok:
			return nil, raisef("TypeError", "float() argument must be a string or a number, not '%s'", typeName(args[0]))
		case !isFloat:
			f, err = toFloat(i)
		}
		return starlark.Float(f), err
	}
	trimmed := strings.TrimSpace(string(text))
	f, err := strconv.ParseFloat(strings.ReplaceAll(trimmed, "_", ""), 64)
	if err != nil && !math.IsInf(f, 0) || strings.ContainsAny(trimmed, "xXpP") {
		shown, err := r.repr(text)
		if err != nil {
			return nil, err
		}
		return nil, raise("ValueError", "could not convert string to float: "+shown)
	}
	return starlark.Float(f), nil
}

func (r *run) newList(a arguments) (starlark.Value, error) {
	items, err := r.optional(a)
	return starlark.NewList(items), err
}

func (r *run) newTuple(a arguments) (starlark.Value, error) {
	items, err := r.optional(a)
	return starlark.Tuple(items), err
}

// optional returns the items of the only argument, none without it.
func (r *run) optional(a arguments) ([]starlark.Value, error) {
	args, err := a.bind(0, "iterable")
	if err != nil || args[0] == nil {
		return nil, err
	}
	return r.items(args[0])
}

func (r *run) newDict(a arguments) (starlark.Value, error) {
	if len(a.positional) > 1 {
		return nil, raisef("TypeError", "dict expected at most 1 argument, got %d", len(a.positional))
	}
	dict := starlark.NewDict(len(a.keyword))
	for _, arg := range a.positional {
		if err := r.update(dict, arg); err != nil {
			return nil, err
		}
	}
	for _, pair := range a.keyword {
		if err := r.set(dict, pair[0], pair[1]); err != nil {
			return nil, err
		}
	}
	return dict, nil
}
