package expression

import (
	"slices"
	"strings"
)

// comparison computes a chain of comparisons, up to the first that does not hold.
func (e *evaluator) comparison(n *node) object {
	left := e.value(n.child(0))
	for _, item := range n.items[1:] {
		right := e.value(item.value)
		if e.failed || !e.compare(item.name, left, right) {
			return truth(false)
		}
		left = right
	}
	return truth(true)
}

func (e *evaluator) compare(operator string, a, b object) bool {
	switch operator {
	case "==":
		return e.equal(a, b)
	case "!=":
		return !e.equal(a, b)
	case "in":
		return e.contains(b, a)
	case "not in":
		return !e.contains(b, a)
	case "is":
		return e.same(a, b)
	case "is not":
		return !e.same(a, b)
	default:
		return e.ordered(operator, a, b)
	}
}

func (e *evaluator) equal(a, b object) bool {
	switch {
	case a.number() && b.number():
		if e.scope != nil && a.real != a.real && b.real != b.real {
			e.fail() // it is equal to itself within a list, and a variable may be itself
		}
		if a.imag != b.imag {
			return false
		}
		order, ok := compared(a, b)
		return ok && order == 0
	case a.kind == kindThing && b.kind == kindThing && (a.text == "" || b.text == ""):
		e.fail()
		return false
	case a.kind != b.kind:
		return false
	case a.table != nil:
		return e.equalTables(a.table, b.table)
	default:
		return a.text == b.text && slices.EqualFunc(a.items, b.items, e.equal)
	}
}

func (e *evaluator) equalTables(a, b *table) bool {
	if a.len() != b.len() {
		return false
	}
	for hash, i := range a.index {
		value, ok := b.get(hash)
		if !ok || !e.equal(a.values[i], value) {
			return false
		}
	}
	return true
}

// same says whether two values are one and the same, as far as that follows from what they are.
func (e *evaluator) same(a, b object) bool {
	switch {
	case a.kind != b.kind:
		return false
	case a.kind == kindList || a.table != nil:
		if e.scope != nil {
			e.fail() // a variable may be the same one
		}
		return false // each is made anew
	case !e.equal(a, b):
		return false
	default:
		if a.kind != kindNone && a.kind != kindBool && a.kind != kindThing {
			e.fail() // whether Python makes two equal ones
		}
		return true
	}
}

func (e *evaluator) contains(o, item object) bool {
	switch o.kind {
	case kindText:
		if item.kind != kindText {
			e.fail()
		}
		return strings.Contains(o.text, item.text)
	case kindList, kindTuple:
		return slices.ContainsFunc(o.items, func(other object) bool { return e.equal(item, other) })
	case kindDict, kindSet:
		_, ok := o.table.get(e.hash(item))
		return ok
	case kindThing:
		if o.span == nil || item.whole == nil {
			e.fail()
			return false
		}
		return o.span.contains(item.whole)
	default:
		e.fail()
		return false
	}
}

// ordered says whether two values stand in an order.
func (e *evaluator) ordered(operator string, a, b object) bool {
	order, ok := 0, true
	switch {
	case a.number() && b.number() && a.kind != kindComplex && b.kind != kindComplex:
		order, ok = compared(a, b)
	case a.kind != b.kind:
		e.fail()
	case a.kind == kindText || a.kind == kindBytes:
		order = strings.Compare(a.text, b.text)
	case a.kind == kindList || a.kind == kindTuple:
		for i := range min(len(a.items), len(b.items)) {
			if !e.equal(a.items[i], b.items[i]) {
				return e.ordered(operator, a.items[i], b.items[i])
			}
		}
		order = len(a.items) - len(b.items)
	default:
		e.fail()
	}
	switch operator {
	case "<":
		return ok && order < 0
	case "<=":
		return ok && order <= 0
	case ">":
		return ok && order > 0
	default:
		return ok && order >= 0
	}
}
