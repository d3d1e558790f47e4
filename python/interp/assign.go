package interp

import (
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// variable returns a pointer to a variable, nil for the name of a builtin.
func (m *machine) variable(f *frame, n *syntax.Name) *any {
	switch n.Binding {
	case syntax.BindingLocal:
		for range n.Hops {
			f = f.parent
		}
		return &f.vars[n.Slot]
	case syntax.BindingGlobal:
		return &m.module.vars[n.Slot]
	default:
		return nil
	}
}

func (m *machine) store(f *frame, n *syntax.Name, v any) {
	if variable := m.variable(f, n); variable != nil {
		*variable = v
	}
}

// load returns the value of a name.
func (m *machine) load(f *frame, n *syntax.Name) any {
	if variable := m.variable(f, n); variable != nil && *variable != absent {
		return *variable
	}
	if n.Binding != syntax.BindingLocal {
		if v, ok := m.builtin(n.ID); ok {
			return v
		}
		panic(raise("NameError", "name '%s' is not defined", n.ID))
	}
	panic(unassigned(n))
}

func unassigned(n *syntax.Name) error {
	if n.Hops > 0 {
		return raise("NameError", "free variable '%s' referenced before assignment in enclosing scope", n.ID)
	}
	return raise("UnboundLocalError", "local variable '%s' referenced before assignment", n.ID)
}

// assign assigns a value to a target.
func (m *machine) assign(f *frame, target syntax.Expr, v any) {
	switch t := target.(type) {
	case *syntax.Name:
		m.store(f, t, v)
	case *syntax.Sequence:
		m.unpack(f, t.Items, v)
	case *syntax.Subscript:
		x := m.eval(f, t.X)
		m.setItem(x, m.index(f, t.Index), v)
	case *syntax.Attribute:
		x := m.eval(f, t.X)
		panic(raise("AttributeError", "'%s' object has no attribute '%s'", typeName(x), t.Name))
	default:
		panic(raise("TypeError", "cannot assign to this target"))
	}
}

// unpack assigns the items of a value to targets. One of them may be starred.
func (m *machine) unpack(f *frame, targets []syntax.Expr, v any) {
	star := -1
	for i, target := range targets {
		if _, ok := target.(*syntax.Starred); ok {
			star = i
		}
	}
	items := m.unpackItems(v, len(targets), star >= 0)
	for i, target := range targets {
		switch {
		case star < 0 || i < star:
			m.assign(f, target, items[i])
		case i == star:
			rest := items[i : len(items)-(len(targets)-1-star)]
			starred, ok := target.(*syntax.Starred)
			if m.allocItems(len(rest)); ok {
				m.assign(f, starred.X, &list{append([]any(nil), rest...)})
			}
		default:
			m.assign(f, target, items[len(items)-len(targets)+i])
		}
	}
}

// unpackItems returns the items of a value for n targets.
func (m *machine) unpackItems(v any, n int, star bool) []any {
	if !iterable(v) {
		panic(raise("TypeError", "cannot unpack non-iterable %s object", typeName(v)))
	}
	it := m.iter(v)
	var items []any
	for star || len(items) <= n {
		item, ok := m.advance(it)
		if !ok {
			break
		}
		m.allocItems(1)
		items = append(items, item)
	}
	switch {
	case !star && len(items) > n:
		panic(raise("ValueError", "too many values to unpack (expected %d)", n))
	case !star && len(items) < n:
		panic(raise("ValueError", "not enough values to unpack (expected %d, got %d)", n, len(items)))
	case star && len(items) < n-1:
		panic(raise("ValueError", "not enough values to unpack (expected at least %d, got %d)", n-1, len(items)))
	}
	return items
}

// augment executes "target op= x". Lists, dicts and sets change in place.
func (m *machine) augment(f *frame, s *syntax.AugAssign) {
	var x, index any
	subscript, isSubscript := s.Target.(*syntax.Subscript)
	if isSubscript {
		x = m.eval(f, subscript.X)
		index = m.index(f, subscript.Index)
	}
	var old any
	if isSubscript {
		old = m.item(x, index)
	} else {
		old = m.eval(f, s.Target)
	}
	changed := m.inPlace(s.Op, old, m.eval(f, s.X))
	if isSubscript {
		m.setItem(x, index, changed)
		return
	}
	m.assign(f, s.Target, changed)
}

func (m *machine) inPlace(op string, x, y any) any {
	switch x := x.(type) {
	case *list:
		if op == "+" {
			m.extend(x, y)
			return x
		}
		if op == "*" {
			result := m.binary(op+"=", x, y)
			if l, ok := result.(*list); ok {
				x.items = l.items
			}
			return x
		}
	case *dict:
		if op == "|" {
			m.update(x, y)
			return x
		}
	case *set:
		if _, ok := y.(*set); ok && !x.frozen {
			result := m.binary(op+"=", x, y)
			if s, ok := result.(*set); ok {
				x.table = s.table
			}
			return x
		}
	}
	return m.binary(op+"=", x, y)
}

// remove executes del.
func (m *machine) remove(f *frame, target syntax.Expr) {
	switch t := target.(type) {
	case *syntax.Name:
		variable := m.variable(f, t)
		if variable == nil || *variable == absent {
			if t.Binding == syntax.BindingLocal {
				panic(unassigned(t))
			}
			panic(raise("NameError", "name '%s' is not defined", t.ID))
		}
		*variable = absent
	case *syntax.Subscript:
		m.removeItem(m.eval(f, t.X), m.index(f, t.Index))
	default:
		panic(raise("TypeError", "cannot delete this target"))
	}
}
