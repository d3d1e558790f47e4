package source

import (
	"math"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// equal returns x == y as Python has it: 1, 1.0 and True are equal, and NaN equals nothing.
func (r *run) equal(x, y starlark.Value, depth int) (bool, error) {
	if depth > maxDepth {
		return false, tooDeep()
	}
	if err := r.spend(1); err != nil {
		return false, err
	}
	_, _, _, xNumber := number(x)
	_, _, _, yNumber := number(y)
	if xNumber && yNumber {
		order, ordered := compareNumbers(x, y)
		return ordered && order == 0, nil
	}
	switch x := x.(type) {
	case starlark.String:
		text, ok := y.(starlark.String)
		return ok && x == text, r.spend(len(x) / 64)
	case *starlark.List:
		if y, ok := y.(*starlark.List); ok {
			return r.equalItems(x, y, depth)
		}
	case starlark.Tuple:
		if y, ok := y.(starlark.Tuple); ok {
			return r.equalItems(x, y, depth)
		}
	case *starlark.Dict:
		if y, ok := y.(*starlark.Dict); ok {
			return r.equalDicts(x, y, depth)
		}
	case starlark.NoneType:
		return x == y, nil
	default:
		return same(x, y), nil
	}
	return false, nil
}

// same says whether two values are one object.
func same(x, y starlark.Value) bool {
	xTuple, xOK := x.(starlark.Tuple)
	yTuple, yOK := y.(starlark.Tuple)
	if xOK || yOK {
		return xOK && yOK && len(xTuple) == len(yTuple) && (len(xTuple) == 0 || &xTuple[0] == &yTuple[0])
	}
	if typeName(x) == "range" || typeName(y) == "range" {
		return typeName(x) == typeName(y) && x.String() == y.String()
	}
	return x == y
}

func (r *run) equalItems(x, y starlark.Indexable, depth int) (bool, error) {
	if x.Len() != y.Len() {
		return false, nil
	}
	for i := range x.Len() {
		if equal, err := r.equal(x.Index(i), y.Index(i), depth+1); err != nil || !equal {
			return false, err
		}
	}
	return true, nil
}

func (r *run) equalDicts(x, y *starlark.Dict, depth int) (bool, error) {
	if x.Len() != y.Len() {
		return false, nil
	}
	for _, item := range x.Items() {
		other, found, err := y.Get(item[0])
		if err != nil || !found {
			return false, err
		}
		if equal, err := r.equal(item[1], other, depth+1); err != nil || !equal {
			return false, err
		}
	}
	return true, nil
}

// compareNumbers returns the order of two numbers; ordered is false if one is NaN.
func compareNumbers(x, y starlark.Value) (order int, ordered bool) {
	value := func(v starlark.Value) starlark.Value {
		if i, _, isFloat, _ := number(v); !isFloat {
			return i
		}
		return v
	}
	for _, v := range []starlark.Value{x, y} {
		if f, ok := v.(starlark.Float); ok && math.IsNaN(float64(f)) {
			return 0, false
		}
	}
	x, y = value(x), value(y)
	if less, _ := starlark.Compare(syntax.LT, x, y); less {
		return -1, true
	}
	if more, _ := starlark.Compare(syntax.GT, x, y); more {
		return 1, true
	}
	return 0, true
}

// less returns x operator y for an operator of <, <=, > and >=.
func (r *run) less(operator string, x, y starlark.Value, depth int) (bool, error) {
	if depth > maxDepth {
		return false, tooDeep()
	}
	if err := r.spend(1); err != nil {
		return false, err
	}
	_, _, _, xNumber := number(x)
	_, _, _, yNumber := number(y)
	if xNumber && yNumber {
		order, ordered := compareNumbers(x, y)
		return ordered && holds(operator, order), nil
	}
	switch x := x.(type) {
	case starlark.String:
		if y, ok := y.(starlark.String); ok {
			return holds(operator, strings.Compare(string(x), string(y))), r.spend(min(len(x), len(y)) / 64)
		}
	case *starlark.List:
		if y, ok := y.(*starlark.List); ok {
			return r.lessItems(operator, x, y, depth)
		}
	case starlark.Tuple:
		if y, ok := y.(starlark.Tuple); ok {
			return r.lessItems(operator, x, y, depth)
		}
	}
	return false, raisef("TypeError", "'%s' not supported between instances of '%s' and '%s'", operator, typeName(x), typeName(y))
}

func holds(operator string, order int) bool {
	switch operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

// lessItems compares the first items that differ, else the lengths.
func (r *run) lessItems(operator string, x, y starlark.Indexable, depth int) (bool, error) {
	for i := range min(x.Len(), y.Len()) {
		equal, err := r.equal(x.Index(i), y.Index(i), depth+1)
		if err != nil {
			return false, err
		}
		if !equal {
			return r.less(operator, x.Index(i), y.Index(i), depth+1)
		}
	}
	return holds(operator, x.Len()-y.Len()), nil
}

// contains returns x in y.
func (r *run) contains(x, y starlark.Value) (bool, error) {
	switch y := y.(type) {
	case starlark.String:
		text, ok := x.(starlark.String)
		if !ok {
			return false, raisef("TypeError", "'in <string>' requires string as left operand, not %s", typeName(x))
		}
		return strings.Contains(string(y), string(text)), r.spend(len(y) / 64)
	case *starlark.Dict:
		key, err := r.key(x)
		if err != nil {
			return false, err
		}
		_, found, err := y.Get(key)
		return found, err
	case starlark.Sequence:
		i, err := r.find(y, x)
		return i >= 0, err
	default:
		return false, raisef("TypeError", "argument of type '%s' is not iterable", typeName(y))
	}
}

// find returns the place of an item, -1 if it is not there.
func (r *run) find(items starlark.Sequence, x starlark.Value) (int, error) {
	iterator := items.Iterate()
	defer iterator.Done()
	item := starlark.Value(nil)
	for i := 0; iterator.Next(&item); i++ {
		if equal, err := r.equal(item, x, 0); err != nil || equal {
			return i, err
		}
	}
	return -1, nil
}

// key returns a value that may be the key of a dict.
func (r *run) key(x starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case *starlark.List, *starlark.Dict:
		return nil, raisef("TypeError", "unhashable type: '%s'", typeName(x))
	case starlark.Tuple:
		return x, r.hashable(x, 0)
	case starlark.Float:
		if math.IsNaN(float64(x)) {
			return nil, raise("ValueError", "nan cannot be a key here")
		}
	case starlark.String:
		return x, r.spend(len(x) / 64)
	}
	return x, nil
}

// hashable says whether all items of a tuple can be hashed, and counts them: hashing goes over them too.
func (r *run) hashable(x starlark.Tuple, depth int) error {
	if depth > maxDepth {
		return tooDeep()
	}
	for _, item := range x {
		if err := r.spend(1); err != nil {
			return err
		}
		if inner, ok := item.(starlark.Tuple); ok {
			if err := r.hashable(inner, depth+1); err != nil {
				return err
			}
			continue
		}
		if _, err := r.key(item); err != nil {
			return err
		}
	}
	return nil
}
