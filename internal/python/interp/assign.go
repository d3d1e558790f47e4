package interp

import (
	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
)

// variable returns the place of a variable; nil for the name of a builtin.
func (m *machine) variable(f *frame, n *syntax.Name) *any {
	switch n.Place {
	case syntax.PlaceLocal:
		for range n.Hops {
			f = f.around
		}
		return &f.vars[n.Slot]
	case syntax.PlaceGlobal:
		return &m.module.vars[n.Slot]
	default:
		return nil
	}
}

func (m *machine) store(f *frame, n *syntax.Name, v any) {
	if place := m.variable(f, n); place != nil {
		*place = v
	}
}

// load returns the value of a name.
func (m *machine) load(f *frame, n *syntax.Name) (any, error) {
	if place := m.variable(f, n); place != nil && *place != absent {
		return *place, nil
	}
	if n.Place != syntax.PlaceLocal {
		if v, ok := m.builtin(n.ID); ok {
			return v, nil
		}
		return nil, raise("NameError", "name '%s' is not defined", n.ID)
	}
	return nil, unassigned(n)
}

func unassigned(n *syntax.Name) error {
	if n.Hops > 0 {
		return raise("NameError", "free variable '%s' referenced before assignment in enclosing scope", n.ID)
	}
	return raise("UnboundLocalError", "local variable '%s' referenced before assignment", n.ID)
}

// assign assigns a value to a target.
func (m *machine) assign(f *frame, target syntax.Expr, v any) error {
	switch t := target.(type) {
	case *syntax.Name:
		m.store(f, t, v)
		return nil
	case *syntax.Sequence:
		return m.unpack(f, t.Items, v)
	case *syntax.Subscript:
		x, err := m.eval(f, t.X)
		if err != nil {
			return err
		}
		index, err := m.index(f, t.Index)
		if err != nil {
			return err
		}
		return m.setItem(x, index, v)
	case *syntax.Attribute:
		x, err := m.eval(f, t.X)
		if err != nil {
			return err
		}
		return raise("AttributeError", "'%s' object has no attribute '%s'", typeName(x), t.Name)
	default:
		return raise("TypeError", "cannot assign to this target")
	}
}

// unpack assigns the items of a value to targets, one of which may have a star.
func (m *machine) unpack(f *frame, targets []syntax.Expr, v any) error {
	star := -1
	for i, target := range targets {
		if _, ok := target.(*syntax.Starred); ok {
			star = i
		}
	}
	items, err := m.unpacked(v, len(targets), star >= 0)
	if err != nil {
		return err
	}
	for i, target := range targets {
		switch {
		case star < 0 || i < star:
			err = m.assign(f, target, items[i])
		case i == star:
			rest := items[i : len(items)-(len(targets)-1-star)]
			starred, ok := target.(*syntax.Starred)
			if err = m.allocItems(len(rest)); err == nil && ok {
				err = m.assign(f, starred.X, &list{append([]any(nil), rest...)})
			}
		default:
			err = m.assign(f, target, items[len(items)-len(targets)+i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unpacked returns the items of a value that n targets take.
func (m *machine) unpacked(v any, n int, star bool) ([]any, error) {
	it, err := m.iter(v)
	if err != nil {
		return nil, raise("TypeError", "cannot unpack non-iterable %s object", typeName(v))
	}
	var items []any
	for star || len(items) <= n {
		item, ok, err := m.advance(it)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := m.allocItems(1); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	switch {
	case !star && len(items) > n:
		return nil, raise("ValueError", "too many values to unpack (expected %d)", n)
	case !star && len(items) < n:
		return nil, raise("ValueError", "not enough values to unpack (expected %d, got %d)", n, len(items))
	case star && len(items) < n-1:
		return nil, raise("ValueError", "not enough values to unpack (expected at least %d, got %d)", n-1, len(items))
	}
	return items, nil
}

// augment executes "target op= x". Lists, dicts and sets change in place.
func (m *machine) augment(f *frame, s *syntax.Augment) error {
	var x, index any
	var err error
	subscript, isSubscript := s.Target.(*syntax.Subscript)
	if isSubscript {
		if x, err = m.eval(f, subscript.X); err != nil {
			return err
		}
		if index, err = m.index(f, subscript.Index); err != nil {
			return err
		}
	}
	var old any
	if isSubscript {
		old, err = m.item(x, index)
	} else {
		old, err = m.eval(f, s.Target)
	}
	if err != nil {
		return err
	}
	value, err := m.eval(f, s.X)
	if err != nil {
		return err
	}
	changed, err := m.inPlace(s.Op, old, value)
	if err != nil {
		return err
	}
	if isSubscript {
		return m.setItem(x, index, changed)
	}
	return m.assign(f, s.Target, changed)
}

func (m *machine) inPlace(op string, x, y any) (any, error) {
	switch x := x.(type) {
	case *list:
		if op == "+" {
			return x, m.extend(x, y)
		}
		if op == "*" {
			repeated, err := m.binary(op+"=", x, y)
			if l, ok := repeated.(*list); ok {
				x.items = l.items
			}
			return x, err
		}
	case *dict:
		if op == "|" {
			return x, m.update(x, y)
		}
	case *set:
		if _, ok := y.(*set); ok && !x.frozen {
			result, err := m.binary(op+"=", x, y)
			if s, ok := result.(*set); ok {
				x.table = s.table
			}
			return x, err
		}
	}
	return m.binary(op+"=", x, y)
}

// remove executes del.
func (m *machine) remove(f *frame, target syntax.Expr) error {
	switch t := target.(type) {
	case *syntax.Name:
		place := m.variable(f, t)
		if place == nil || *place == absent {
			if t.Place == syntax.PlaceLocal {
				return unassigned(t)
			}
			return raise("NameError", "name '%s' is not defined", t.ID)
		}
		*place = absent
		return nil
	case *syntax.Subscript:
		x, err := m.eval(f, t.X)
		if err != nil {
			return err
		}
		index, err := m.index(f, t.Index)
		if err != nil {
			return err
		}
		return m.removeItem(x, index)
	default:
		return raise("TypeError", "cannot delete this target")
	}
}
