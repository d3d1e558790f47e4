package interp

import (
	"math"
	"math/big"
	"slices"
)

func (a *arguments) setSelf() *set {
	s, _ := a.self.(*set)
	if len(a.named) > 0 {
		panic(raise("TypeError", "%s() takes no keyword arguments", a.name))
	}
	return s
}

// setItem implements add, discard and remove.
func setItem(a *arguments) any {
	s := a.setSelf()
	v := a.one()
	if a.name == "add" {
		i := a.get(&s.table, v)
		if i >= 0 {
			return nil
		}
		a.put(&s.table, v, nil)
		return nil
	}
	i := a.get(&s.table, frozen(v))
	switch {
	case i >= 0:
		s.remove(i)
	case a.name == "remove":
		panic(raiseValue("KeyError", v))
	}
	return nil
}

// frozen returns the key to look up: a frozen set in place of a set.
func frozen(v any) any {
	if s, ok := v.(*set); ok {
		return &set{s.table, true}
	}
	return v
}

// setNoArgument implements clear and pop. pop removes the first item.
func setNoArgument(a *arguments) any {
	s := a.setSelf()
	a.positionalOnly(0, 0)
	if a.name == "clear" {
		s.clear()
		return nil
	}
	for i := range s.entries {
		if key := s.entries[i].key; s.entries[i].hash != nil {
			s.remove(i)
			a.chargeSteps(i / 16)
			return key
		}
	}
	panic(raise("KeyError", "pop from an empty set"))
}

// setCombine implements union, intersection, difference, symmetric_difference and copy.
func setCombine(a *arguments) any {
	s := a.setSelf()
	result := &set{frozen: s.frozen}
	a.combine(&result.table, "|", &s.table, &table{})
	op := map[string]string{
		"union": "|", "intersection": "&", "difference": "-", "symmetric_difference": "^",
		"update": "|", "intersection_update": "&", "difference_update": "-", "symmetric_difference_update": "^",
	}[a.name]
	if a.name == "copy" || op == "^" {
		a.positionalOnly(len(op), len(op))
	}
	for _, arg := range a.positional {
		other := a.asSet(arg)
		next := table{}
		left, right := &result.table, &other.table
		if _, isSet := arg.(*set); op == "&" && !isSet { // keep the items of the argument
			right.entries = slices.DeleteFunc(right.all(), func(e entry) bool { return left.find(e.hash) < 0 })
			right.index, right.live = nil, len(right.entries)
		}
		a.combine(&next, op, left, right)
		result.table = next
	}
	return result
}

// asSet returns a set of the items of an iterable.
func (m *machine) asSet(v any) *set {
	if s, ok := v.(*set); ok {
		return s
	}
	items := m.collect(nil, v)
	s := &set{}
	for _, item := range items {
		m.put(&s.table, item, nil)
	}
	return s
}

func setUpdate(a *arguments) any {
	s := a.setSelf()
	result := setCombine(a)
	if combined, ok := result.(*set); ok {
		s.table = combined.table
	}
	return nil
}

// setRelation implements issubset, issuperset and isdisjoint.
func setRelation(a *arguments) any {
	s := a.setSelf()
	other := a.asSet(a.one())
	a.chargeSteps(s.live + other.live)
	switch a.name {
	case "issubset":
		return isSubset(&s.table, &other.table)
	case "issuperset":
		return isSubset(&other.table, &s.table)
	}
	common := table{}
	a.combine(&common, "&", &s.table, &other.table)
	return common.live == 0
}

func isInteger(a *arguments) any {
	f, _ := a.self.(float64)
	return !math.IsInf(f, 0) && f == math.Trunc(f)
}

func bitLength(a *arguments) any {
	i, _ := toBigInt(a.self)
	return new(big.Int).Abs(i).BitLen()
}
