package expression

import (
	"maps"
	"math/big"
	"slices"
)

// rowBytes is what each value that a loop goes through counts against maxBytes, beside what is made of it.
const rowBytes = 16

// scope holds the variables of a comprehension, nil as long as they have no value.
type scope struct {
	outer     *scope
	variables map[string]*object
}

// loops are a comprehension that can be gone through: its parts, the value that its first loop goes through, and its variables.
type loops struct {
	made, clauses []item
	first         object
	scope         *scope
}

// progress is how far something that can be gone through once has come.
type progress uint8

const (
	progressNone progress = iota
	progressBegun
	progressDone
)

// generator computes its values when something goes through it, which can be done once.
type generator struct {
	loops
	progress progress
}

// span is a range: where it begins, where it ends, and its step.
type span [3]*big.Int

// spanOf reads one to three bounds.
func spanOf(bounds []object) *span {
	s := &span{new(big.Int), bounds[0].whole, big.NewInt(1)}
	for i := 0; i < len(bounds) && len(bounds) > 1; i++ {
		s[i] = bounds[i].whole
	}
	return s
}

// holds says whether an integer is in the range, before its end.
func (s *span) holds(i *big.Int) bool {
	return s[2].Sign() > 0 == (i.Cmp(s[1]) < 0) && i.Cmp(s[1]) != 0
}

// contains says whether an integer is one of the range.
func (s *span) contains(i *big.Int) bool {
	from := new(big.Int).Sub(i, s[0])
	return s.holds(i) && from.Sign()*s[2].Sign() >= 0 && new(big.Int).Rem(from, s[2]).Sign() == 0
}

// comprehension computes a list, a set or a dict; what stands in round brackets is computed when it is gone through.
func (e *evaluator) comprehension(n *node) object {
	parts := slices.IndexFunc(n.items, func(i item) bool { return i.form != formPlain })
	l := loops{made: n.items[:parts], clauses: n.items[parts:], scope: &scope{outer: e.scope, variables: make(map[string]*object)}}
	for _, clause := range l.clauses {
		if clause.form == formFor {
			clause.value.variables(func(name string) { l.scope.variables[name] = nil })
		}
	}
	l.first = e.value(l.clauses[1].value) // outside of the scope, as in Python
	switch {
	case n.text == "(" && !l.first.iterable() && l.first.kind != kindSet:
		return e.fail()
	case n.text == "(":
		return object{kind: kindThing, generator: &generator{loops: l}}
	}
	var items []object
	keyed := object{kind: kindDict, table: &table{}}
	e.run(l, func() {
		first := e.value(l.made[0].value)
		if len(l.made) > 1 {
			keyed.table.set(e.hash(first), first, e.value(l.made[1].value))
			return
		}
		items = append(items, first)
	})
	switch {
	case len(l.made) > 1:
		return keyed
	case n.text == "{":
		return e.set(items)
	default:
		return sequence(kindList, items)
	}
}

// run goes through the loops and calls yield for each turn of the innermost, within their scope.
func (e *evaluator) run(l loops, yield func()) {
	e.within(l.scope, func() { e.clauses(l.clauses, &l.first, yield) })
}

func (e *evaluator) within(s *scope, do func()) {
	saved := e.scope
	e.scope = s
	do()
	e.scope = saved
}

// clauses goes through loops and conditions. first is what the first loop goes through, where that is computed already.
func (e *evaluator) clauses(list []item, first *object, yield func()) {
	switch {
	case e.failed:
	case len(list) == 0:
		yield()
	case list[0].form == formIf:
		if e.truth(e.value(list[0].value)) {
			e.clauses(list[1:], nil, yield)
		}
	default:
		if first == nil {
			source := e.value(list[1].value)
			first = &source
		}
		e.each(*first, func(o object) {
			e.assign(list[0].value, o)
			e.clauses(list[2:], nil, yield)
		})
	}
}

// assign gives variables of the innermost scope their values.
func (e *evaluator) assign(target *node, o object) {
	switch {
	case e.failed:
	case target.kind == nodeName:
		e.scope.variables[target.text] = &o
	case target.kind == nodeTuple || target.kind == nodeList:
		items := e.iterated(o)
		star := slices.IndexFunc(target.items, func(i item) bool { return i.value.kind == nodeStarred })
		spare := len(items) - len(target.items)
		if star < 0 && spare != 0 || spare < -1 {
			e.fail()
			return
		}
		for i, part := range target.items {
			if i == star {
				e.assign(part.value.child(0), sequence(kindList, items[:spare+1]))
				items = items[spare+1:]
				continue
			}
			e.assign(part.value, items[0])
			items = items[1:]
		}
	default:
		e.fail()
	}
}

// iterable says whether a loop can go through a value.
func (o object) iterable() bool {
	switch o.kind {
	case kindList, kindTuple, kindDict, kindText, kindBytes:
		return true
	case kindSet:
		return o.table.len() < 2
	default:
		return o.generator != nil || o.span != nil
	}
}

// each calls do for what a loop goes through. A set of several values has no order.
func (e *evaluator) each(o object, do func(object)) {
	row := func(item object) bool {
		if e.spend(rowBytes) {
			do(item)
		}
		return !e.failed
	}
	switch {
	case o.generator != nil:
		e.generate(o.generator, func(item object) { row(item) })
		return
	case o.span != nil:
		for i := o.span[0]; o.span.holds(i) && row(integer(i)); {
			i = new(big.Int).Add(i, o.span[2])
		}
		return
	case !o.iterable() || !e.spend(o.size()):
		e.fail()
		return
	}
	items := o.items
	if o.table != nil {
		items = o.table.keys
	}
	for _, item := range items {
		if !row(item) {
			return
		}
	}
	for i, c := range o.parts() {
		if o.kind == kindBytes {
			c = integer(big.NewInt(int64(o.text[i])))
		}
		if !row(c) {
			return
		}
	}
}

// parts are the characters of a text, or as many for bytes.
func (o object) parts() []object {
	var list []object
	switch o.kind {
	case kindText:
		for _, c := range characters(o.text) {
			list = append(list, text(c))
		}
	case kindBytes:
		list = make([]object, len(o.text))
	}
	return list
}

// generate goes through a generator. One that is gone through already goes on from there in Python.
func (e *evaluator) generate(g *generator, do func(object)) {
	switch g.progress {
	case progressBegun:
		e.fail()
		return
	case progressDone:
		return
	}
	g.progress = progressBegun
	outer := e.scope
	e.run(g.loops, func() {
		made := e.value(g.made[0].value)
		e.within(outer, func() { do(made) })
	})
	g.progress = progressDone
}

// variables calls do for each name that a target gives a value.
func (n *node) variables(do func(name string)) {
	if n.kind == nodeName {
		do(n.text)
	}
	if n.kind == nodeTuple || n.kind == nodeList || n.kind == nodeStarred {
		for _, item := range n.items {
			item.value.variables(do)
		}
	}
}

// rebinds says whether := stands where Python refuses it: in what a loop goes through, or for one of the loops' own variables.
func (n *node) rebinds(variables map[string]bool, source bool) bool {
	switch n.kind {
	case nodeNamed:
		if source || variables[n.child(0).text] {
			return true
		}
	case nodeComprehension:
		variables = maps.Clone(variables)
		if variables == nil {
			variables = make(map[string]bool)
		}
		for _, clause := range n.items {
			if clause.form == formFor {
				clause.value.variables(func(name string) { variables[name] = true })
			}
		}
	}
	for i, item := range n.items {
		own := variables
		if n.kind == nodeLambda && i == len(n.items)-1 {
			own = nil // a function has its own
		}
		if item.value != nil && item.value.rebinds(own, source || item.form == formIn) {
			return true
		}
	}
	return false
}
