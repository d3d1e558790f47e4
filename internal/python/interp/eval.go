package interp

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
)

// eval computes an expression.
func (m *machine) eval(f *frame, x syntax.Expr) (any, error) {
	if err := m.step(); err != nil {
		return nil, err
	}
	switch x := x.(type) {
	case *syntax.Name:
		return m.load(f, x)
	case *syntax.Constant:
		return x.Value, nil
	case *syntax.Call:
		return m.evalCall(f, x)
	case *syntax.Binary:
		return m.evalBinary(f, x)
	case *syntax.Attribute:
		a, err := m.eval(f, x.X)
		if err != nil {
			return nil, err
		}
		return m.attribute(a, x.Name)
	case *syntax.Subscript:
		a, err := m.eval(f, x.X)
		if err != nil {
			return nil, err
		}
		i, err := m.index(f, x.Index)
		if err != nil {
			return nil, err
		}
		return m.item(a, i)
	case *syntax.Compare:
		return m.evalCompare(f, x)
	case *syntax.Logical:
		a, err := m.eval(f, x.X)
		if err != nil || truth(a) == x.Or {
			return a, err
		}
		return m.eval(f, x.Y)
	case *syntax.Unary:
		a, err := m.eval(f, x.X)
		if err != nil {
			return nil, err
		}
		return m.unary(x.Op, a)
	case *syntax.Condition:
		test, err := m.eval(f, x.Test)
		if err != nil {
			return nil, err
		}
		if truth(test) {
			return m.eval(f, x.X)
		}
		return m.eval(f, x.Y)
	default:
		return m.build(f, x)
	}
}

func (m *machine) evalBinary(f *frame, x *syntax.Binary) (any, error) {
	a, err := m.eval(f, x.X)
	if err != nil {
		return nil, err
	}
	b, err := m.eval(f, x.Y)
	if err != nil {
		return nil, err
	}
	return m.binary(x.Op, a, b)
}

// build computes the expressions that make a text, a container or a function.
func (m *machine) build(f *frame, x syntax.Expr) (any, error) {
	switch x := x.(type) {
	case *syntax.Joined:
		return m.joined(f, x)
	case *syntax.Formatted:
		return m.formatted(f, x)
	case *syntax.Sequence:
		return m.display(f, x)
	case *syntax.Dict:
		return m.dictDisplay(f, x)
	case *syntax.Comprehension:
		return m.comprehension(f, x)
	case *syntax.Lambda:
		return m.define(f, x.Function)
	case *syntax.Named:
		v, err := m.eval(f, x.X)
		if err == nil {
			m.store(f, x.Name, v)
		}
		return v, err
	case *syntax.Slice:
		return m.index(f, x)
	default:
		return nil, raise("TypeError", "this expression cannot be executed here")
	}
}

// index computes what stands in a subscript.
func (m *machine) index(f *frame, x syntax.Expr) (any, error) {
	s, ok := x.(*syntax.Slice)
	if !ok {
		return m.eval(f, x)
	}
	result := &slice{}
	for _, part := range []struct {
		x    syntax.Expr
		into *any
	}{{s.Low, &result.low}, {s.High, &result.high}, {s.Step, &result.step}} {
		if part.x == nil {
			continue
		}
		var err error
		if *part.into, err = m.eval(f, part.x); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func (m *machine) evalCompare(f *frame, x *syntax.Compare) (any, error) {
	a, err := m.eval(f, x.X)
	if err != nil {
		return nil, err
	}
	for i, op := range x.Ops {
		b, err := m.eval(f, x.Rights[i])
		if err != nil {
			return nil, err
		}
		holds, err := m.compare(op, a, b)
		if err != nil || !holds {
			return false, err
		}
		a = b
	}
	return true, nil
}

// items computes the items of a display.
func (m *machine) items(f *frame, exprs []syntax.Expr) ([]any, error) {
	if err := m.allocItems(len(exprs)); err != nil {
		return nil, err
	}
	items := make([]any, 0, len(exprs))
	for _, x := range exprs {
		if starred, ok := x.(*syntax.Starred); ok {
			v, err := m.eval(f, starred.X)
			if err != nil {
				return nil, err
			}
			if _, failure := m.iter(v); failure != nil {
				return nil, raise("TypeError", "Value after * must be an iterable, not %s", typeName(v))
			}
			if items, err = m.collect(items, v); err != nil {
				return nil, err
			}
			continue
		}
		v, err := m.eval(f, x)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return items, nil
}

func (m *machine) display(f *frame, x *syntax.Sequence) (any, error) {
	items, err := m.items(f, x.Items)
	if err != nil {
		return nil, err
	}
	switch x.Kind {
	case syntax.KindList:
		return &list{items}, nil
	case syntax.KindSet:
		return m.setOf(items, false)
	default:
		return &tuple{items}, nil
	}
}

func (m *machine) setOf(items []any, frozen bool) (any, error) {
	s := &set{frozen: frozen}
	for _, item := range items {
		if err := m.put(&s.table, item, nil); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (m *machine) dictDisplay(f *frame, x *syntax.Dict) (any, error) {
	d := &dict{}
	for i, key := range x.Keys {
		if key == nil {
			v, err := m.eval(f, x.Values[i])
			if err != nil {
				return nil, err
			}
			if _, ok := v.(*dict); !ok {
				return nil, raise("TypeError", "'%s' object is not a mapping", typeName(v))
			}
			if err := m.update(d, v); err != nil {
				return nil, err
			}
			continue
		}
		k, err := m.eval(f, key)
		if err != nil {
			return nil, err
		}
		v, err := m.eval(f, x.Values[i])
		if err != nil {
			return nil, err
		}
		if err := m.put(&d.table, k, v); err != nil {
			return nil, err
		}
	}
	return d, m.alloc(64)
}

func (m *machine) joined(f *frame, x *syntax.Joined) (any, error) {
	var out strings.Builder
	for _, part := range x.Parts {
		v, err := m.eval(f, part)
		if err != nil {
			return nil, err
		}
		text, err := m.str(v)
		if err != nil {
			return nil, err
		}
		if err := m.alloc(len(text)); err != nil {
			return nil, err
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

func (m *machine) formatted(f *frame, x *syntax.Formatted) (any, error) {
	v, err := m.eval(f, x.Value)
	if err != nil {
		return nil, err
	}
	if v, err = m.convert(v, x.Conversion); err != nil {
		return nil, err
	}
	if x.Spec == nil {
		return m.str(v)
	}
	spec, err := m.joined(f, x.Spec)
	if err != nil {
		return nil, err
	}
	text, _ := spec.(string)
	return m.format(v, text)
}

// cursor goes over what the clauses of a comprehension select.
type cursor struct {
	c     *syntax.Comprehension
	inner *frame
	open  []iterator
	first iterator
	done  bool
}

func (m *machine) cursor(f *frame, c *syntax.Comprehension) (*cursor, error) {
	v, err := m.eval(f, c.Clauses[0].Iterable)
	if err != nil {
		return nil, err
	}
	first, err := m.iter(v)
	if err != nil {
		return nil, err
	}
	n := len(c.Scope.Names)
	if err := m.alloc(64 + 16*n); err != nil {
		return nil, err
	}
	return &cursor{c: c, first: first, inner: &frame{vars: blank(n), around: f}}, nil
}

// next goes to the next selection.
func (u *cursor) next(m *machine) (bool, error) {
	if u.done {
		return false, nil
	}
	if u.open == nil {
		u.open = append(make([]iterator, 0, len(u.c.Clauses)), u.first)
	}
	for len(u.open) > 0 {
		level := len(u.open) - 1
		if err := m.step(); err != nil {
			return false, err
		}
		item, ok, err := m.advance(u.open[level])
		if err != nil {
			return false, err
		}
		if !ok {
			u.open = u.open[:level]
			continue
		}
		selected, err := u.selects(m, level, item)
		switch {
		case err != nil:
			return false, err
		case !selected:
		case level+1 == len(u.c.Clauses):
			return true, nil
		default:
			v, err := m.eval(u.inner, u.c.Clauses[level+1].Iterable)
			if err != nil {
				return false, err
			}
			it, err := m.iter(v)
			if err != nil {
				return false, err
			}
			u.open = append(u.open, it)
		}
	}
	u.done = true
	return false, nil
}

// selects assigns an item to the target of a clause and says whether its conditions hold.
func (u *cursor) selects(m *machine, level int, item any) (bool, error) {
	clause := &u.c.Clauses[level]
	if err := m.assign(u.inner, clause.Target, item); err != nil {
		return false, err
	}
	for _, condition := range clause.Conditions {
		v, err := m.eval(u.inner, condition)
		if err != nil || !truth(v) {
			return false, err
		}
	}
	return true, nil
}

// generator is a generator expression.
type generator struct{ *cursor }

func (generator) name() string { return "generator" }

func (g generator) next(m *machine) (any, bool, error) {
	ok, err := g.cursor.next(m)
	if err != nil || !ok {
		g.done = true
		return nil, false, err
	}
	v, err := m.eval(g.inner, g.c.Value)
	g.done = g.done || err != nil
	return v, err == nil, err
}

func (m *machine) comprehension(f *frame, c *syntax.Comprehension) (any, error) {
	u, err := m.cursor(f, c)
	if err != nil {
		return nil, err
	}
	if c.Kind == syntax.KindGenerator {
		return &generator{u}, nil
	}
	l, s, d := &list{}, &set{}, &dict{}
	for {
		ok, err := u.next(m)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		var key any
		if c.Key != nil {
			if key, err = m.eval(u.inner, c.Key); err != nil {
				return nil, err
			}
		}
		v, err := m.eval(u.inner, c.Value)
		if err != nil {
			return nil, err
		}
		switch c.Kind {
		case syntax.KindList:
			err = m.allocItems(1)
			l.items = append(l.items, v)
		case syntax.KindSet:
			err = m.put(&s.table, v, nil)
		default:
			err = m.put(&d.table, key, v)
		}
		if err != nil {
			return nil, err
		}
	}
	switch c.Kind {
	case syntax.KindList:
		return l, nil
	case syntax.KindSet:
		return s, nil
	default:
		return d, nil
	}
}
