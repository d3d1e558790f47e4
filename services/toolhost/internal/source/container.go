package source

import (
	"errors"
	"strings"

	"go.starlark.net/starlark"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// iter returns something to loop over: a text's characters, or the value itself.
func (r *run) iter(x starlark.Value) (starlark.Iterable, error) {
	switch x := x.(type) {
	case starlark.String:
		items, err := r.characters(string(x))
		return starlark.NewList(items), err
	case *starlark.Dict: // its keys are copied by the interpreter
		return x, r.allocItems(x.Len())
	case starlark.Iterable:
		return x, nil
	default:
		return nil, raisef("TypeError", "'%s' object is not iterable", typeName(x))
	}
}

// unpack returns what is assigned to several names.
func (r *run) unpack(x starlark.Value) (starlark.Value, error) {
	iterable, err := r.iter(x)
	if err != nil {
		return nil, raisef("TypeError", "cannot unpack non-iterable %s object", typeName(x))
	}
	return iterable, nil
}

// items returns what a loop over x sees.
func (r *run) items(x starlark.Value) ([]starlark.Value, error) {
	iterable, err := r.iter(x)
	if err != nil {
		return nil, err
	}
	n := max(0, starlark.Len(iterable))
	if err := r.allocItems(n); err != nil {
		return nil, err
	}
	items := make([]starlark.Value, 0, n)
	iterator := iterable.Iterate()
	defer iterator.Done()
	for item := starlark.Value(nil); iterator.Next(&item); {
		items = append(items, item)
	}
	return items, nil
}

// index resolves a subscript of a sequence, from the end if it is negative; what names the sequence in errors.
func index(key starlark.Value, length int, what string) (int, error) {
	i, _, isFloat, ok := number(key)
	if !ok || isFloat {
		if what == "string" {
			return 0, raise("TypeError", "string indices must be integers")
		}
		return 0, raisef("TypeError", "%s indices must be integers or slices, not %s", what, typeName(key))
	}
	n, err := starlark.AsInt32(i)
	if err != nil {
		n = length
	}
	if n < 0 {
		n += length
	}
	if n < 0 || n >= length {
		return 0, raisef("IndexError", "%s index out of range", what)
	}
	return n, nil
}

// item returns x[key].
func (r *run) item(x, key starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case *starlark.Dict:
		return r.lookup(x, key)
	case starlark.String:
		items, err := r.characters(string(x))
		if err != nil {
			return nil, err
		}
		i, err := index(key, len(items), "string")
		if err != nil {
			return nil, err
		}
		return items[i], nil
	case starlark.Indexable:
		i, err := index(key, x.Len(), typeName(x))
		if err != nil {
			return nil, err
		}
		return x.Index(i), nil
	default:
		return nil, raisef("TypeError", "'%s' object is not subscriptable", typeName(x))
	}
}

func (r *run) lookup(x *starlark.Dict, key starlark.Value) (starlark.Value, error) {
	key, err := r.key(key)
	if err != nil {
		return nil, err
	}
	value, found, err := x.Get(key)
	if err != nil || found {
		return value, err
	}
	text, err := r.repr(key)
	if err != nil {
		return nil, err
	}
	return nil, raise("KeyError", text)
}

// setItem does x[key] = value, or the augmented assignment of the operator.
func (r *run) setItem(value, x, key starlark.Value, operator string) error {
	if operator != "" {
		old, err := r.item(x, key)
		if err != nil {
			return err
		}
		if value, err = r.augment(old, value, operator); err != nil {
			return err
		}
	}
	switch x := x.(type) {
	case *starlark.Dict:
		key, err := r.key(key)
		if err != nil {
			return err
		}
		return r.set(x, key, value)
	case *starlark.List:
		i, err := index(key, x.Len(), "list assignment")
		if err != nil {
			return err
		}
		return x.SetIndex(i, value)
	default:
		return raisef("TypeError", "'%s' object does not support item assignment", typeName(x))
	}
}

// set stores the value of a key that may be one.
func (r *run) set(x *starlark.Dict, key, value starlark.Value) error {
	if err := r.allocItems(1); err != nil {
		return err
	}
	return x.SetKey(key, value)
}

// augment returns what x is after the augmented assignment; a list or dict is changed in place.
func (r *run) augment(x, y starlark.Value, operator string) (starlark.Value, error) {
	if list, ok := x.(*starlark.List); ok && operator == "+" {
		return list, r.extend(list, y)
	}
	if dict, ok := x.(*starlark.Dict); ok && operator == "|" {
		return dict, r.update(dict, y)
	}
	result, err := r.binary(operator, x, y)
	var exception *python.Exception
	if errors.As(err, &exception) {
		return nil, raise(exception.Type, strings.Replace(exception.Text, " for "+operator+": ", " for "+operator+"=: ", 1))
	}
	return result, err
}

func (r *run) extend(x *starlark.List, y starlark.Value) error {
	items, err := r.items(y)
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := x.Append(item); err != nil {
			return err
		}
	}
	return nil
}

// update stores the items of a dict, or the pairs of something to loop over.
func (r *run) update(x *starlark.Dict, y starlark.Value) error {
	if dict, ok := y.(*starlark.Dict); ok {
		for _, item := range dict.Items() {
			if err := r.set(x, item[0], item[1]); err != nil {
				return err
			}
		}
		return nil
	}
	pairs, err := r.items(y)
	if err != nil {
		return err
	}
	for i, pair := range pairs {
		items, err := r.items(pair)
		if err != nil {
			return raisef("TypeError", "cannot convert dictionary update sequence element #%d to a sequence", i)
		}
		if len(items) != 2 {
			return raisef("ValueError", "dictionary update sequence element #%d has length %d; 2 is required", i, len(items))
		}
		key, err := r.key(items[0])
		if err != nil {
			return err
		}
		if err := r.set(x, key, items[1]); err != nil {
			return err
		}
	}
	return nil
}

// slice returns x[low:high:step].
func (r *run) slice(x, low, high, step starlark.Value) (starlark.Value, error) {
	sequence, ok := x.(starlark.Indexable)
	if !ok {
		return nil, raisef("TypeError", "'%s' object is not subscriptable", typeName(x))
	}
	text, isText := x.(starlark.String)
	if isText {
		characters, err := r.characters(string(text))
		if err != nil {
			return nil, err
		}
		sequence = starlark.Tuple(characters)
	}
	first, last, stride, err := bounds(low, high, step, sequence.Len())
	if err != nil {
		return nil, err
	}
	var items []starlark.Value
	for i := first; stride > 0 && i < last || stride < 0 && i > last; i += stride {
		if err := r.allocItems(1); err != nil {
			return nil, err
		}
		items = append(items, sequence.Index(i))
	}
	if isText {
		return r.concatenateTexts("", items)
	}
	if _, isTuple := x.(starlark.Tuple); isTuple {
		return starlark.Tuple(items), nil
	}
	return starlark.NewList(items), nil
}

// bounds resolves the bounds of a slice.
func bounds(low, high, step starlark.Value, length int) (first, last, stride int, err error) {
	bound := func(v starlark.Value, otherwise int) int {
		if v == starlark.None || err != nil {
			return otherwise
		}
		i, _, isFloat, ok := number(v)
		if !ok || isFloat {
			err = raise("TypeError", "slice indices must be integers or None or have an __index__ method")
			return 0
		}
		n, overflow := starlark.AsInt32(i)
		if overflow != nil {
			n = i.Sign() << 30
		}
		return n
	}
	if stride = bound(step, 1); err == nil && stride == 0 {
		err = raise("ValueError", "slice step cannot be zero")
	}
	clamp := func(n, least, most int) int {
		if n < 0 {
			n += length
		}
		return max(least, min(n, most))
	}
	if stride > 0 {
		first, last = clamp(bound(low, 0), 0, length), clamp(bound(high, length), 0, length)
		return first, last, stride, err
	}
	first, last = length-1, -1
	if low != starlark.None {
		first = clamp(bound(low, 0), -1, length-1)
	}
	if high != starlark.None {
		last = clamp(bound(high, 0), -1, length-1)
	}
	return first, last, stride, err
}

// concatenateTexts puts texts together with a separator between them.
func (r *run) concatenateTexts(separator string, items []starlark.Value) (starlark.Value, error) {
	size := 0
	for i, item := range items {
		text, ok := item.(starlark.String)
		if !ok {
			return nil, raisef("TypeError", "sequence item %d: expected str instance, %s found", i, typeName(item))
		}
		if size += len(text) + len(separator); size > maxMemory {
			break
		}
	}
	if err := r.alloc(size); err != nil {
		return nil, err
	}
	out := make([]byte, 0, size)
	for i, item := range items {
		if i > 0 {
			out = append(out, separator...)
		}
		text, _ := starlark.AsString(item)
		out = append(out, text...)
	}
	return starlark.String(out), nil
}

// joinParts puts the parts of an f-string together.
func (r *run) joinParts(a arguments) (starlark.Value, error) {
	items, err := r.items(a.positional[0])
	if err != nil {
		return nil, err
	}
	return r.concatenateTexts("", items)
}
