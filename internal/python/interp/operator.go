package interp

import (
	"math"
	"math/big"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python/limit"
)

// binary returns x op y. An op with an equals sign is one in place, which only messages tell apart.
func (m *machine) binary(op string, x, y any) (any, error) {
	shown := op
	op = strings.TrimSuffix(op, "=")
	if isNumber(x) && isNumber(y) {
		return m.arithmetic(op, shown, x, y)
	}
	switch op {
	case "+":
		return m.concatenate(shown, x, y)
	case "*":
		if n, large, ok := integer(y); ok {
			return m.repeat(x, n, large, unsupported(shown, x, y))
		}
		if n, large, ok := integer(x); ok {
			return m.repeat(y, n, large, unsupported(shown, x, y))
		}
		switch x.(type) {
		case string, *list, *tuple:
			return nil, raise("TypeError", "can't multiply sequence by non-int of type '%s'", typeName(y))
		}
		switch y.(type) {
		case string, *list, *tuple:
			return nil, raise("TypeError", "can't multiply sequence by non-int of type '%s'", typeName(x))
		}
	case "%":
		if text, ok := x.(string); ok {
			return m.percent(text, y)
		}
	case "|", "&", "-", "^":
		left, leftOK := x.(*dict)
		right, rightOK := y.(*dict)
		if leftOK && rightOK && op == "|" {
			merged := &dict{}
			if err := m.update(merged, left); err != nil {
				return nil, err
			}
			return merged, m.update(merged, right)
		}
		if result, ok, err := m.setOperation(op, x, y); ok || err != nil {
			return result, err
		}
	}
	return nil, unsupported(shown, x, y)
}

func (m *machine) concatenate(shown string, x, y any) (any, error) {
	switch x := x.(type) {
	case string:
		if y, ok := y.(string); ok {
			if err := m.alloc(len(x) + len(y)); err != nil {
				return nil, err
			}
			return x + y, m.spend((len(x) + len(y)) / 64)
		}
		return nil, raise("TypeError", "can only concatenate str (not \"%s\") to str", typeName(y))
	case *list:
		if y, ok := y.(*list); ok {
			items, err := m.concatenated(x.items, y.items)
			return &list{items}, err
		}
		return nil, raise("TypeError", "can only concatenate list (not \"%s\") to list", typeName(y))
	case *tuple:
		if y, ok := y.(*tuple); ok {
			items, err := m.concatenated(x.items, y.items)
			return &tuple{items}, err
		}
		return nil, raise("TypeError", "can only concatenate tuple (not \"%s\") to tuple", typeName(y))
	}
	return nil, unsupported(shown, x, y)
}

func (m *machine) concatenated(x, y []any) ([]any, error) {
	if err := m.allocItems(len(x) + len(y)); err != nil {
		return nil, err
	}
	return append(append(make([]any, 0, len(x)+len(y)), x...), y...), nil
}

// repeat returns x * n, or an error if x is no sequence.
func (m *machine) repeat(x any, n int, large *big.Int, otherwise error) (any, error) {
	if large != nil {
		n = math.MaxInt
		if large.Sign() < 0 {
			n = 0
		}
	}
	n = max(0, n)
	switch x := x.(type) {
	case string:
		if x == "" || n == 0 {
			return "", nil
		}
		if err := m.allocTimes(n, len(x)); err != nil {
			return nil, err
		}
		return strings.Repeat(x, n), m.spend(n * len(x) / 64)
	case *list:
		items, err := m.repeated(x.items, n)
		return &list{items}, err
	case *tuple:
		items, err := m.repeated(x.items, n)
		return &tuple{items}, err
	}
	return nil, otherwise
}

func (m *machine) repeated(items []any, n int) ([]any, error) {
	if len(items) == 0 || n == 0 {
		return nil, nil
	}
	if n > limit.Memory/len(items) {
		return nil, m.alloc(limit.Memory + 1)
	}
	if err := m.allocItems(n * len(items)); err != nil {
		return nil, err
	}
	result := make([]any, 0, n*len(items))
	for range n {
		result = append(result, items...)
	}
	return result, nil
}

// setItems returns the table of a set, or of a view of keys or items. With a view any other operand
// that has items counts as a set too.
func (m *machine) setItems(v any, beside any) (*table, bool, error) {
	switch v := v.(type) {
	case *set:
		return &v.table, true, nil
	case *view:
		if v.kind == viewKeys {
			return &v.of.table, true, nil
		}
	}
	itself, isView := v.(*view)
	other, besideView := beside.(*view)
	if !(isView && itself.kind == viewItems) && !(besideView && other.kind != viewValues) {
		return nil, false, nil
	}
	s, err := m.asSet(v)
	if err != nil {
		return nil, false, err
	}
	return &s.table, true, nil
}

// setOperation computes with sets.
func (m *machine) setOperation(op string, x, y any) (any, bool, error) {
	a, aOK, err := m.setItems(x, y)
	if err != nil || !aOK {
		return nil, false, err
	}
	b, bOK, err := m.setItems(y, x)
	if err != nil || !bOK {
		return nil, false, err
	}
	result := &set{}
	if s, ok := x.(*set); ok {
		result.frozen = s.frozen
	}
	return result, true, m.combine(&result.table, op, a, b)
}

// combine puts the union, intersection, difference or symmetric difference of two sets into a
// table.
func (m *machine) combine(into *table, op string, a, b *table) error {
	if err := m.allocItems(2 * (a.live + b.live)); err != nil {
		return err
	}
	if op == "&" && a.live >= b.live { // the keys of the smaller one stay
		a, b = b, a
	}
	for _, e := range a.all() {
		if op == "|" || (b.find(e.hash) >= 0) == (op == "&") {
			into.put(e.hash, e.key, nil)
		}
	}
	if op == "|" || op == "^" {
		for _, e := range b.all() {
			if a.find(e.hash) < 0 {
				into.put(e.hash, e.key, nil)
			}
		}
	}
	return nil
}
