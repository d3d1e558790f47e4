package source

import (
	"math"
	"math/big"
	"slices"
	"strconv"

	"go.starlark.net/starlark"
)

// print appends to the output.
func (r *run) print(a arguments) (starlark.Value, error) {
	separator, end := " ", "\n"
	for _, pair := range a.keyword {
		name, _ := starlark.AsString(pair[0])
		switch value := pair[1].(type) {
		case starlark.NoneType:
		case starlark.String:
			switch name {
			case "sep":
				separator = string(value)
			case "end":
				end = string(value)
			}
		default:
			if name == "sep" || name == "end" {
				return nil, raisef("TypeError", "%s must be None or a string, not %s", name, typeName(value))
			}
		}
		if !slices.Contains([]string{"sep", "end", "flush", "file"}, name) {
			return nil, raisef("TypeError", "'%s' is an invalid keyword argument for print()", name)
		}
	}
	for i, arg := range a.positional {
		text, err := r.str(arg)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = separator + text
		}
		if err := r.write(text); err != nil {
			return nil, err
		}
	}
	return starlark.None, r.write(end)
}

func (r *run) write(text string) error {
	if len(text) > maxOutput-len(r.out) {
		return raisef("MemoryError", "more than %d bytes were printed", maxOutput)
	}
	r.out = append(r.out, text...)
	return r.spend(len(text) / 64)
}

func (r *run) reprOf(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "obj")
	if err != nil {
		return nil, err
	}
	text, err := r.repr(args[0])
	return starlark.String(text), err
}

func (r *run) length(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "obj")
	if err != nil {
		return nil, err
	}
	switch x := args[0].(type) {
	case starlark.String:
		return starlark.MakeInt(length(string(x))), r.spend(len(x) / 64)
	case starlark.Sequence:
		return starlark.MakeInt(x.Len()), nil
	default:
		return nil, raisef("TypeError", "object of type '%s' has no len()", typeName(x))
	}
}

// maxRange is the largest bound of a range.
const maxRange = 1 << 30

func (r *run) newRange(a arguments) (starlark.Value, error) {
	if len(a.keyword) > 0 || len(a.positional) == 0 || len(a.positional) > 3 {
		return nil, raisef("TypeError", "range expected at most 3 arguments, got %d", len(a.positional)+len(a.keyword))
	}
	numbers, step := make(starlark.Tuple, len(a.positional)), 1
	for i, arg := range a.positional {
		n, _, isFloat, ok := number(arg)
		if !ok || isFloat {
			return nil, raisef("TypeError", "'%s' object cannot be interpreted as an integer", typeName(arg))
		}
		small, err := starlark.AsInt32(n)
		if err != nil || small > maxRange || small < -maxRange {
			return nil, raise("MemoryError", "the range is too large")
		}
		if i == 2 {
			step = small
		}
		numbers[i] = n
	}
	if step == 0 {
		return nil, raise("ValueError", "range() arg 3 must not be zero")
	}
	return starlark.Call(r.thread, starlark.Universe["range"], numbers, nil)
}

// keyed returns the keys to compare items by.
func (r *run) keyed(items []starlark.Value, key starlark.Value) ([]starlark.Value, error) {
	if key == nil || key == starlark.None {
		return items, nil
	}
	keys := make([]starlark.Value, len(items))
	for i, item := range items {
		var err error
		if keys[i], err = starlark.Call(r.thread, key, starlark.Tuple{item}, nil); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

func (r *run) sorted(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "iterable", "key", "reverse")
	if err != nil {
		return nil, err
	}
	items, err := r.items(args[0])
	if err != nil {
		return nil, err
	}
	items, err = r.sort(items, args[1], args[2])
	return starlark.NewList(items), err
}

// sort returns the items in order; equal ones keep theirs.
func (r *run) sort(items []starlark.Value, key, reverse starlark.Value) (_ []starlark.Value, err error) {
	keys, err := r.keyed(items, key)
	if err != nil {
		return nil, err
	}
	descending := reverse != nil && bool(reverse.Truth())
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if err != nil {
			return 0
		}
		if descending {
			i, j = j, i
		}
		var less bool
		if less, err = r.less("<", keys[i], keys[j], 0); less || err != nil {
			return -1
		}
		if less, err = r.less("<", keys[j], keys[i], 0); less || err != nil {
			return 1
		}
		return 0
	})
	if err != nil {
		return nil, err
	}
	sorted := make([]starlark.Value, len(items))
	for i, at := range order {
		sorted[i] = items[at]
	}
	return sorted, nil
}

func (r *run) reversed(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "sequence")
	if err != nil {
		return nil, err
	}
	items, err := r.items(args[0])
	slices.Reverse(items)
	return starlark.NewList(items), err
}

// extreme is min and max.
func (r *run) extreme(a arguments) (starlark.Value, error) {
	items := []starlark.Value(a.positional)
	var key, otherwise starlark.Value
	for _, pair := range a.keyword {
		switch name, _ := starlark.AsString(pair[0]); name {
		case "key":
			key = pair[1]
		case "default":
			otherwise = pair[1]
		default:
			return nil, raisef("TypeError", "'%s' is an invalid keyword argument for %s()", name, a.name)
		}
	}
	switch len(items) {
	case 0:
		return nil, raisef("TypeError", "%s expected at least 1 argument, got 0", a.name)
	case 1:
		var err error
		if items, err = r.items(items[0]); err != nil {
			return nil, err
		}
	}
	if len(items) == 0 {
		if otherwise == nil {
			return nil, raisef("ValueError", "%s() arg is an empty sequence", a.name)
		}
		return otherwise, nil
	}
	keys, err := r.keyed(items, key)
	if err != nil {
		return nil, err
	}
	operator, best := "<", 0
	if a.name == "max" {
		operator = ">"
	}
	for i := range keys {
		better, err := r.less(operator, keys[i], keys[best], 0)
		if err != nil {
			return nil, err
		}
		if better && i > 0 {
			best = i
		}
	}
	return items[best], nil
}

func (r *run) sum(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "iterable", "start")
	if err != nil {
		return nil, err
	}
	items, err := r.items(args[0])
	if err != nil {
		return nil, err
	}
	total := args[1]
	if total == nil {
		total = starlark.MakeInt(0)
	}
	if _, ok := total.(starlark.String); ok {
		return nil, raise("TypeError", "sum() can't sum strings [use ''.join(seq) instead]")
	}
	for _, item := range items {
		if err := r.spend(1); err != nil {
			return nil, err
		}
		if total, err = r.binary("+", total, item); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func (r *run) abs(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "x")
	if err != nil {
		return nil, err
	}
	i, f, isFloat, ok := number(args[0])
	switch {
	case !ok:
		return nil, raisef("TypeError", "bad operand type for abs(): '%s'", typeName(args[0]))
	case isFloat:
		return starlark.Float(math.Abs(f)), nil
	case i.Sign() < 0:
		return starlark.MakeInt(0).Sub(i), nil
	default:
		return i, nil
	}
}

// round rounds half to even, as Python does.
func (r *run) round(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "number", "ndigits")
	if err != nil {
		return nil, err
	}
	i, f, isFloat, ok := number(args[0])
	if !ok {
		return nil, raisef("TypeError", "type %s doesn't define __round__ method", typeName(args[0]))
	}
	if args[1] == nil || args[1] == starlark.None {
		if !isFloat {
			return i, nil
		}
		return truncate(math.RoundToEven(f))
	}
	digits, err := starlark.AsInt32(args[1])
	if err != nil {
		return nil, raisef("TypeError", "'%s' object cannot be interpreted as an integer", typeName(args[1]))
	}
	if !isFloat {
		if digits >= 0 {
			return i, nil
		}
		return nil, raise("ValueError", "round() of an int to negative digits cannot be executed here")
	}
	if digits > 400 || math.IsNaN(f) || math.IsInf(f, 0) {
		return starlark.Float(f), nil
	}
	if digits >= 0 {
		rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64)
		return starlark.Float(rounded), err
	}
	scale := math.Pow10(min(-digits, 400))
	return starlark.Float(math.RoundToEven(f/scale) * scale), nil
}

// truncate converts a float to an int towards zero.
func truncate(f float64) (starlark.Value, error) {
	switch {
	case math.IsNaN(f):
		return nil, raise("ValueError", "cannot convert float NaN to integer")
	case math.IsInf(f, 0):
		return nil, raise("OverflowError", "cannot convert float infinity to integer")
	}
	i, _ := big.NewFloat(f).Int(nil)
	return starlark.MakeBigInt(i), nil
}

// anyAll is any and all.
func (r *run) anyAll(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "iterable")
	if err != nil {
		return nil, err
	}
	items, err := r.items(args[0])
	if err != nil {
		return nil, err
	}
	wanted := a.name == "any"
	for _, item := range items {
		if bool(item.Truth()) == wanted {
			return starlark.Bool(wanted), nil
		}
	}
	return starlark.Bool(!wanted), nil
}
