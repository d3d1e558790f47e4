package interp

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// eval evaluates an expression.
func (m *machine) eval(f *frame, x syntax.Expr) any {
	m.step()
	switch x := x.(type) {
	case *syntax.Name:
		return m.load(f, x)
	case *syntax.Constant:
		return x.Value
	case *syntax.Call:
		return m.evalCall(f, x)
	case *syntax.Binary:
		return m.evalBinary(f, x)
	case *syntax.Attribute:
		a := m.eval(f, x.X)
		v, missing := m.attribute(a, x.Name)
		if missing != nil {
			panic(missing)
		}
		return v
	case *syntax.Subscript:
		a := m.eval(f, x.X)
		return m.item(a, m.index(f, x.Index))
	case *syntax.Compare:
		return m.evalCompare(f, x)
	case *syntax.BoolOp:
		a := m.eval(f, x.X)
		if truth(a) == x.Or {
			return a
		}
		return m.eval(f, x.Y)
	case *syntax.Unary:
		return m.unary(x.Op, m.eval(f, x.X))
	case *syntax.IfExpr:
		if truth(m.eval(f, x.Test)) {
			return m.eval(f, x.X)
		}
		return m.eval(f, x.Y)
	default:
		return m.build(f, x)
	}
}

func (m *machine) evalBinary(f *frame, x *syntax.Binary) any {
	return m.binary(x.Op, m.eval(f, x.X), m.eval(f, x.Y))
}

// build evaluates the expressions that create a text, a container or a function.
func (m *machine) build(f *frame, x syntax.Expr) any {
	switch x := x.(type) {
	case *syntax.JoinedStr:
		return m.joined(f, x)
	case *syntax.FormattedValue:
		return m.formatted(f, x)
	case *syntax.Sequence:
		return m.display(f, x)
	case *syntax.Dict:
		return m.dictDisplay(f, x)
	case *syntax.Comprehension:
		return m.comprehension(f, x)
	case *syntax.Lambda:
		return m.define(f, x.Function)
	case *syntax.NamedExpr:
		v := m.eval(f, x.X)
		m.store(f, x.Name, v)
		return v
	case *syntax.Slice:
		return m.index(f, x)
	default:
		panic(raise("TypeError", "this expression cannot be executed here"))
	}
}

// index evaluates the expression of a subscript.
func (m *machine) index(f *frame, x syntax.Expr) any {
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
		*part.into = m.eval(f, part.x)
	}
	return result
}

func (m *machine) evalCompare(f *frame, x *syntax.Compare) any {
	a := m.eval(f, x.X)
	for i, op := range x.Ops {
		b := m.eval(f, x.Rights[i])
		if !m.compare(op, a, b) {
			return false
		}
		a = b
	}
	return true
}

// items evaluates the items of a list, tuple or set display.
func (m *machine) items(f *frame, exprs []syntax.Expr) []any {
	m.allocItems(len(exprs))
	items := make([]any, 0, len(exprs))
	for _, x := range exprs {
		if starred, ok := x.(*syntax.Starred); ok {
			v := m.eval(f, starred.X)
			if !iterable(v) {
				panic(raise("TypeError", "Value after * must be an iterable, not %s", typeName(v)))
			}
			items = m.collect(items, v)
			continue
		}
		items = append(items, m.eval(f, x))
	}
	return items
}

func (m *machine) display(f *frame, x *syntax.Sequence) any {
	items := m.items(f, x.Items)
	switch x.Kind {
	case syntax.KindList:
		return &list{items}
	case syntax.KindSet:
		return m.setOf(items, false)
	default:
		return &tuple{items}
	}
}

func (m *machine) setOf(items []any, frozen bool) any {
	s := &set{frozen: frozen}
	for _, item := range items {
		m.put(&s.table, item, nil)
	}
	return s
}

func (m *machine) dictDisplay(f *frame, x *syntax.Dict) any {
	d := &dict{}
	d.grow(len(x.Keys))
	for i, key := range x.Keys {
		if key == nil {
			v := m.eval(f, x.Values[i])
			if _, ok := v.(*dict); !ok {
				panic(raise("TypeError", "'%s' object is not a mapping", typeName(v)))
			}
			m.update(d, v)
			continue
		}
		m.put(&d.table, m.eval(f, key), m.eval(f, x.Values[i]))
	}
	m.alloc(64)
	return d
}

func (m *machine) joined(f *frame, x *syntax.JoinedStr) any {
	var out strings.Builder
	for _, part := range x.Parts {
		text := m.str(m.eval(f, part))
		m.alloc(len(text))
		out.WriteString(text)
	}
	return out.String()
}

func (m *machine) formatted(f *frame, x *syntax.FormattedValue) any {
	v := m.eval(f, x.Value)
	v = m.convert(v, x.Conversion)
	if x.Spec == nil {
		return m.str(v)
	}
	spec := m.joined(f, x.Spec)
	text, _ := spec.(string)
	return m.format(v, text)
}

// cursor iterates over the items that the clauses of a comprehension select.
type cursor struct {
	c     *syntax.Comprehension
	inner *frame
	open  []iterator
	first iterator
}

func (m *machine) cursor(f *frame, c *syntax.Comprehension) *cursor {
	first := m.iter(m.eval(f, c.Clauses[0].Iterable))
	n := len(c.Scope.Names)
	m.alloc(64 + 16*n)
	return &cursor{c: c, first: first, inner: newFrame(n, f)}
}

// next advances to the next selected item and reports whether one exists.
func (u *cursor) next(m *machine) bool {
	if u.open == nil {
		u.open = append(make([]iterator, 0, len(u.c.Clauses)), u.first)
	}
	for len(u.open) > 0 {
		level := len(u.open) - 1
		m.step()
		item, ok := m.advance(u.open[level])
		if !ok {
			u.open = u.open[:level]
			continue
		}
		selected := u.selects(m, level, item)
		switch {
		case !selected:
		case level+1 == len(u.c.Clauses):
			return true
		default:
			it := m.iter(m.eval(u.inner, u.c.Clauses[level+1].Iterable))
			u.open = append(u.open, it)
		}
	}
	return false
}

// selects assigns an item to the target of a clause and reports whether its conditions hold.
func (u *cursor) selects(m *machine, level int, item any) bool {
	clause := &u.c.Clauses[level]
	m.assign(u.inner, clause.Target, item)
	for _, condition := range clause.Conditions {
		if !truth(m.eval(u.inner, condition)) {
			return false
		}
	}
	return true
}

// generator is a generator expression.
type generator struct {
	*cursor
	done bool
}

func (*generator) name() string { return "generator" }

func (g *generator) next(m *machine) (any, bool) {
	if g.done {
		return nil, false
	}
	g.done = true // stays true if next panics: an exception ends a generator
	if !g.cursor.next(m) {
		return nil, false
	}
	v := m.eval(g.inner, g.c.Value)
	g.done = false
	return v, true
}

func (m *machine) comprehension(f *frame, c *syntax.Comprehension) any {
	u := m.cursor(f, c)
	if c.Kind == syntax.KindGenerator {
		return &generator{cursor: u}
	}
	l, s, d := &list{}, &set{}, &dict{}
	for u.next(m) {
		var key any
		if c.Key != nil {
			key = m.eval(u.inner, c.Key)
		}
		v := m.eval(u.inner, c.Value)
		switch c.Kind {
		case syntax.KindList:
			m.allocItems(1)
			l.items = append(l.items, v)
		case syntax.KindSet:
			m.put(&s.table, v, nil)
		default:
			m.put(&d.table, key, v)
		}
	}
	switch c.Kind {
	case syntax.KindList:
		return l
	case syntax.KindSet:
		return s
	default:
		return d
	}
}
