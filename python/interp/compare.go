package interp

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
)

// compare returns x op y.
func (m *machine) compare(op string, x, y any) bool {
	switch op {
	case "==":
		return m.equal(x, y, 0)
	case "!=":
		return !m.equal(x, y, 0)
	case "in":
		return m.contains(x, y)
	case "not in":
		return !m.contains(x, y)
	case "is", "is not":
		m.chargeSteps(textCost(x))
		return isSame(x, y) == (op == "is")
	default:
		return m.less(op, x, y, 0)
	}
}

// equal returns x == y.
func (m *machine) equal(x, y any, depth int) bool {
	if depth > limit.ValueDepth {
		panic(raise("RecursionError", "maximum recursion depth exceeded in comparison"))
	}
	m.chargeSteps(1)
	x, y = plain(x), plain(y)
	if isNumber(x) && isNumber(y) {
		order, ordered := python.CompareNumbers(x, y)
		return ordered && order == 0
	}
	switch x := x.(type) {
	case ordered:
		order, ok := x.order(m, y, false)
		return ok && order == 0
	case string:
		text, ok := y.(string)
		m.chargeSteps(len(x) / 64)
		return ok && x == text
	case *list:
		if y, ok := y.(*list); ok {
			return m.equalItems(x.items, y.items, depth)
		}
	case *tuple:
		if y, ok := y.(*tuple); ok {
			return m.equalItems(x.items, y.items, depth)
		}
	case *dict:
		if y, ok := y.(*dict); ok {
			return m.equalTables(&x.table, &y.table, depth)
		}
	case *set, *view:
		if d, e := itemsOf(x), itemsOf(y); d != nil && e != nil { // whose values may have no hash
			return m.equalTables(&d.table, &e.table, depth)
		}
		a, aOK := m.setItems(x, nil)
		if !aOK {
			return isSame(x, y)
		}
		b, bOK := m.setItems(y, nil)
		if !bOK {
			return isSame(x, y)
		}
		m.chargeSteps(a.live)
		return a.live == b.live && isSubset(a, b)
	case *rangeValue:
		if y, ok := y.(*rangeValue); ok {
			n := x.length()
			return n == y.length() && (n == 0 || x.start == y.start && (n == 1 || x.step == y.step))
		}
	}
	return isSame(x, y)
}

// itemsOf returns the dict of which a value is the view of the items, nil for other values.
func itemsOf(v any) *dict {
	if items, ok := v.(*view); ok && items.kind == viewItems {
		return items.of
	}
	return nil
}

// isSubset reports whether table b has all keys of table a.
func isSubset(a, b *table) bool {
	for i := range a.entries {
		if e := &a.entries[i]; e.hash != nil && b.find(e.hash) < 0 {
			return false
		}
	}
	return true
}

func (m *machine) equalItems(x, y []any, depth int) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if i >= len(y) {
			return false
		}
		if !m.identical(x[i], y[i], depth+1) {
			return false
		}
	}
	return true
}

// identical reports whether two items of containers are the same object or equal.
func (m *machine) identical(x, y any, depth int) bool {
	if _, isFloat := x.(float64); !isFloat && isSame(x, y) {
		m.chargeSteps(1 + textCost(x))
		return true
	}
	return m.equal(x, y, depth)
}

func (m *machine) equalTables(x, y *table, depth int) bool {
	if x.live != y.live {
		return false
	}
	for i := range x.entries { // a copy without the deleted ones would cost more than the comparison
		e := &x.entries[i]
		if e.hash == nil {
			continue
		}
		if at := y.find(e.hash); at < 0 || !m.identical(e.value, y.entries[at].value, depth+1) {
			return false
		}
	}
	return true
}

// less returns x op y for the operators <, <=, > and >=.
func (m *machine) less(op string, x, y any, depth int) bool {
	if depth > limit.ValueDepth {
		panic(raise("RecursionError", "maximum recursion depth exceeded in comparison"))
	}
	m.chargeSteps(1)
	given, other := x, y
	x, y = plain(x), plain(y)
	if isNumber(x) && isNumber(y) {
		order, ordered := python.CompareNumbers(x, y)
		return ordered && satisfies(op, order)
	}
	switch x := x.(type) {
	case ordered:
		if order, ok := x.order(m, y, true); ok {
			return satisfies(op, order)
		}
	case string:
		if y, ok := y.(string); ok {
			m.chargeSteps(min(len(x), len(y)) / 64)
			return satisfies(op, strings.Compare(x, y))
		}
	case *list:
		if y, ok := y.(*list); ok {
			return m.lessItems(op, x.items, y.items, depth)
		}
	case *tuple:
		if y, ok := y.(*tuple); ok {
			return m.lessItems(op, x.items, y.items, depth)
		}
	case *set, *view:
		a, aOK := m.setItems(x, nil)
		b, bOK := m.setItems(y, nil)
		if aOK && bOK {
			if op[0] == '>' {
				a, b = b, a
			}
			m.chargeSteps(a.live)
			return isSubset(a, b) && (len(op) == 2 || a.live < b.live)
		}
	}
	panic(raise("TypeError", "'%s' not supported between instances of '%s' and '%s'", op, typeName(given), typeName(other)))
}

func satisfies(op string, order int) bool {
	switch op {
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

// lessItems compares the first items that differ, otherwise the lengths.
func (m *machine) lessItems(op string, x, y []any, depth int) bool {
	for i := range min(len(x), len(y)) {
		if !m.identical(x[i], y[i], depth+1) {
			return m.less(op, x[i], y[i], depth+1)
		}
	}
	return satisfies(op, len(x)-len(y))
}

// contains returns x in y.
func (m *machine) contains(x, y any) bool {
	switch y := plain(y).(type) {
	case *class:
		if y.enum != nil {
			return y.enum.contains(x, y)
		}
	case string:
		text := requireString(x, "'in <string>' requires string as left operand, not %s")
		m.chargeSteps(len(y) / 64)
		return strings.Contains(y, text)
	case *dict:
		i := m.get(&y.table, x)
		return i >= 0
	case *set:
		i := m.get(&y.table, frozen(x))
		return i >= 0
	case *rangeValue:
		if i, large, ok := integer(x); ok {
			if large != nil || y.length() == 0 {
				return false
			}
			low, high := y.start, y.at(y.length()-1)
			if y.step < 0 {
				low, high = high, low
			}
			return i >= low && i <= high && (uint64(i)-uint64(low))%magnitude(y.step) == 0
		}
	case *view:
		if y.kind == viewKeys {
			return m.get(&y.of.table, x) >= 0
		}
	}
	if !iterable(y) {
		panic(raise("TypeError", "argument of type '%s' is not iterable", typeName(y)))
	}
	it := m.iter(y)
	for {
		item, ok := m.advance(it)
		if !ok {
			return false
		}
		if m.identical(item, x, 0) {
			return true
		}
	}
}
