package interp

import (
	"math"
	"math/big"
	"slices"
)

// setMethod returns a method of sets.
func setMethod(name string, frozen bool) native {
	switch name {
	case "union", "intersection", "difference", "symmetric_difference", "copy":
		return setCombine
	case "issubset", "issuperset", "isdisjoint":
		return setRelation
	}
	if frozen {
		return nil
	}
	switch name {
	case "add", "discard", "remove":
		return setItem
	case "clear", "pop":
		return setWhole
	case "update", "intersection_update", "difference_update", "symmetric_difference_update":
		return setUpdate
	default:
		return nil
	}
}

func (a *arguments) setSelf() (*set, error) {
	s, ok := a.self.(*set)
	switch {
	case !ok:
		return nil, raise("TypeError", "a set is needed")
	case len(a.named) > 0:
		return nil, raise("TypeError", "%s() takes no keyword arguments", a.name)
	}
	return s, nil
}

// setItem is add, discard and remove.
func setItem(a *arguments) (any, error) {
	s, err := a.setSelf()
	if err != nil {
		return nil, err
	}
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	if a.name == "add" {
		i, err := a.get(&s.table, args[0])
		if err != nil || i >= 0 {
			return nil, err
		}
		return nil, a.put(&s.table, args[0], nil)
	}
	i, err := a.get(&s.table, frozen(args[0]))
	switch {
	case err != nil:
		return nil, err
	case i >= 0:
		s.remove(i)
	case a.name == "remove":
		return nil, raiseValue("KeyError", args[0])
	}
	return nil, nil
}

// frozen returns what a set looks for: a frozen set in place of a set.
func frozen(v any) any {
	if s, ok := v.(*set); ok {
		return &set{s.table, true}
	}
	return v
}

// setWhole is clear and pop, which takes the first item.
func setWhole(a *arguments) (any, error) {
	s, err := a.setSelf()
	if err != nil {
		return nil, err
	}
	if _, err := a.positionalOnly(0, 0); err != nil {
		return nil, err
	}
	if a.name == "clear" {
		s.clear()
		return nil, nil
	}
	for i := range s.entries {
		if key := s.entries[i].key; s.entries[i].hash != nil {
			s.remove(i)
			return key, a.spend(i / 16)
		}
	}
	return nil, raise("KeyError", "pop from an empty set")
}

// setCombine is union and its like, of any number of arguments.
func setCombine(a *arguments) (any, error) {
	s, err := a.setSelf()
	if err != nil {
		return nil, err
	}
	result := &set{frozen: s.frozen}
	if err := a.combine(&result.table, "|", &s.table, &table{}); err != nil {
		return nil, err
	}
	op := map[string]string{
		"union": "|", "intersection": "&", "difference": "-", "symmetric_difference": "^",
		"update": "|", "intersection_update": "&", "difference_update": "-", "symmetric_difference_update": "^",
	}[a.name]
	if a.name == "copy" || op == "^" {
		if _, err := a.positionalOnly(len(op), len(op)); err != nil {
			return nil, err
		}
	}
	for _, arg := range a.positional {
		other, err := a.asSet(arg)
		if err != nil {
			return nil, err
		}
		next := table{}
		left, right := &result.table, &other.table
		if _, isSet := arg.(*set); op == "&" && !isSet { // the items of the argument stay
			right.entries = slices.DeleteFunc(right.all(), func(e entry) bool { return left.find(e.hash) < 0 })
			right.index, right.live = nil, len(right.entries)
		}
		if err := a.combine(&next, op, left, right); err != nil {
			return nil, err
		}
		result.table = next
	}
	return result, nil
}

// asSet makes a set of the items of a value.
func (m *machine) asSet(v any) (*set, error) {
	if s, ok := v.(*set); ok {
		return s, nil
	}
	items, err := m.collect(nil, v)
	if err != nil {
		return nil, err
	}
	s := &set{}
	for _, item := range items {
		if err := m.put(&s.table, item, nil); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func setUpdate(a *arguments) (any, error) {
	s, err := a.setSelf()
	if err != nil {
		return nil, err
	}
	result, err := setCombine(a)
	if combined, ok := result.(*set); ok && err == nil {
		s.table = combined.table
	}
	return nil, err
}

// setRelation is issubset, issuperset and isdisjoint.
func setRelation(a *arguments) (any, error) {
	s, err := a.setSelf()
	if err != nil {
		return nil, err
	}
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	other, err := a.asSet(args[0])
	if err != nil {
		return nil, err
	}
	if err := a.spend(s.live + other.live); err != nil {
		return nil, err
	}
	switch a.name {
	case "issubset":
		return within(&s.table, &other.table), nil
	case "issuperset":
		return within(&other.table, &s.table), nil
	}
	common := table{}
	err = a.combine(&common, "&", &s.table, &other.table)
	return common.live == 0, err
}

// numberMethod returns a method of numbers.
func numberMethod(name string, x any) native {
	_, isFloat := x.(float64)
	switch {
	case name == "is_integer" && isFloat:
		return func(a *arguments) (any, error) {
			f, _ := a.self.(float64)
			return !math.IsInf(f, 0) && f == math.Trunc(f), nil
		}
	case name == "bit_length" && !isFloat:
		return func(a *arguments) (any, error) {
			i, _ := whole(a.self)
			return new(big.Int).Abs(i).BitLen(), nil
		}
	default:
		return nil
	}
}
