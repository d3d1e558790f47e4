package interp

import (
	"math"
	"math/big"
	"strings"

	"github.com/toolsandbox/toolsandbox/python/limit"
)

// binary returns x op y. An op such as "+=" differs from "+" only in error texts.
func (m *machine) binary(op string, x, y any) any {
	opText := op
	op = strings.TrimSuffix(op, "=")
	given, other := x, y
	x, y = plain(x), plain(y)
	if isNumber(x) && isNumber(y) {
		return m.arithmetic(op, opText, x, y)
	}
	switch op {
	case "+":
		switch x.(type) {
		case string, *list, *tuple:
			return m.concatenate(opText, x, y)
		}
	case "*":
		n, large, ok := integer(y)
		sequence := x
		if !ok {
			n, large, ok = integer(x)
			sequence = y
		}
		if ok {
			if v, ok := m.repeat(sequence, n, large); ok {
				return v
			}
			break
		}
		switch x.(type) {
		case string, *list, *tuple:
			panic(raise("TypeError", "can't multiply sequence by non-int of type '%s'", typeName(y)))
		}
		switch y.(type) {
		case string, *list, *tuple:
			panic(raise("TypeError", "can't multiply sequence by non-int of type '%s'", typeName(x)))
		}
	case "%":
		if text, ok := x.(string); ok {
			return m.formatPercent(text, other)
		}
	case "|", "&", "-", "^":
		left, leftOK := x.(*dict)
		right, rightOK := y.(*dict)
		if leftOK && rightOK && op == "|" {
			merged := &dict{}
			m.update(merged, left)
			m.update(merged, right)
			return merged
		}
		if result, ok := m.setOperation(op, x, y); ok {
			return result
		}
	}
	for _, operand := range []any{x, y} {
		if of, ok := operand.(calculable); ok {
			if result := of.calculate(m, op, x, y); result != absent {
				return result
			}
		}
	}
	panic(unsupported(opText, given, other))
}

func (m *machine) concatenate(opText string, x, y any) any {
	switch x := x.(type) {
	case string:
		if y, ok := y.(string); ok {
			m.alloc(len(x) + len(y))
			m.chargeSteps((len(x) + len(y)) / 64)
			return x + y
		}
		panic(raise("TypeError", "can only concatenate str (not \"%s\") to str", typeName(y)))
	case *list:
		if y, ok := y.(*list); ok {
			items := m.concatenated(x.items, y.items)
			return &list{items}
		}
		panic(raise("TypeError", "can only concatenate list (not \"%s\") to list", typeName(y)))
	case *tuple:
		if y, ok := y.(*tuple); ok {
			items := m.concatenated(x.items, y.items)
			return &tuple{items}
		}
		panic(raise("TypeError", "can only concatenate tuple (not \"%s\") to tuple", typeName(y)))
	}
	panic(unsupported(opText, x, y))
}

func (m *machine) concatenated(x, y []any) []any {
	m.allocItems(len(x) + len(y))
	return append(append(make([]any, 0, len(x)+len(y)), x...), y...)
}

// repeat returns x * n; ok is false if x is no sequence.
func (m *machine) repeat(x any, n int, large *big.Int) (v any, ok bool) {
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
			return "", true
		}
		m.allocTimes(n, len(x))
		m.chargeSteps(n * len(x) / 64)
		return strings.Repeat(x, n), true
	case *list:
		items := m.repeated(x.items, n)
		return &list{items}, true
	case *tuple:
		items := m.repeated(x.items, n)
		return &tuple{items}, true
	}
	return nil, false
}

func (m *machine) repeated(items []any, n int) []any {
	if len(items) == 0 || n == 0 {
		return nil
	}
	if n > limit.Memory/len(items) {
		m.alloc(limit.Memory + 1)
		return nil
	}
	m.allocItems(n * len(items))
	result := make([]any, 0, n*len(items))
	for range n {
		result = append(result, items...)
	}
	return result
}

// setItems returns the table of a set, or of a view of keys or items. If the other operand is such
// a view, any iterable counts as a set.
func (m *machine) setItems(v any, beside any) (*table, bool) {
	switch v := v.(type) {
	case *set:
		return &v.table, true
	case *view:
		if v.kind == viewKeys {
			return &v.of.table, true
		}
	}
	itself, isView := v.(*view)
	other, besideView := beside.(*view)
	if !(isView && itself.kind == viewItems) && !(besideView && other.kind != viewValues) {
		return nil, false
	}
	return &m.asSet(v).table, true
}

// setOperation applies an operator to sets.
func (m *machine) setOperation(op string, x, y any) (any, bool) {
	a, aOK := m.setItems(x, y)
	if !aOK {
		return nil, false
	}
	b, bOK := m.setItems(y, x)
	if !bOK {
		return nil, false
	}
	result := &set{}
	if s, ok := x.(*set); ok {
		result.frozen = s.frozen
	}
	m.combine(&result.table, op, a, b)
	return result, true
}

// combine puts the union, intersection, difference or symmetric difference of two sets into a
// table.
func (m *machine) combine(into *table, op string, a, b *table) {
	m.allocItems(2 * (a.live + b.live))
	if op == "&" && a.live >= b.live { // keep the keys of the smaller set
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
}
