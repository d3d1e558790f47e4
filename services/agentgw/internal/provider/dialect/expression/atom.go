package expression

// primary reads attributes, subscripts and calls.
func (p *parser) primary() *node {
	n := p.atom()
	for range maxChain {
		switch {
		case p.take("."):
			n = (&node{kind: nodeAttribute, text: p.name()}).add(n)
		case p.take("["):
			n = (&node{kind: nodeSubscript}).add(n, p.subscript())
		case p.take("("):
			n = &node{kind: nodeCall, items: append([]item{{value: n}}, p.arguments()...)}
		default:
			return n
		}
	}
	return p.fail()
}

// subscript reads what stands in square brackets behind a value.
func (p *parser) subscript() *node {
	n := &node{kind: nodeTuple}
	for {
		if p.take("*") {
			n.add((&node{kind: nodeStarred}).add(p.expression()))
		} else {
			n.add(p.slice())
		}
		if comma := p.take(","); p.take("]") {
			if one := n.child(0); len(n.items) == 1 && !comma && one.kind != nodeStarred {
				return one
			}
			return n
		} else if !comma {
			return p.fail()
		}
	}
}

// slice reads an expression, or up to three between colons, each of which may be missing.
func (p *parser) slice() *node {
	var first *node
	if !p.sees(":") {
		if first = p.named(); !p.sees(":") {
			return first
		}
	}
	n := (&node{kind: nodeSlice}).add(first, nil, nil)
	for i := 1; i < len(n.items) && p.take(":"); i++ {
		if p.begins() {
			n.items[i].value = p.expression()
		}
	}
	return n
}

// arguments reads the arguments of a call up to its bracket. Those without a name come first, as Python wants it, except stars.
func (p *parser) arguments() []item {
	var items []item
	named, unpacked := false, false
	for !p.take(")") && !p.failed {
		a := item{}
		star := false
		switch {
		case p.take("**"):
			a.form, a.value, unpacked = formUnpacked, p.expression(), true
		case p.take("*"):
			a.value, star = (&node{kind: nodeStarred}).add(p.expression()), true
		case p.atName() && p.after(1) == token{tokenMark, "="}:
			a.form, a.name, named = formNamed, p.name(), true
			p.pos++
			a.value = p.expression()
		default:
			if a.value = p.named(); p.loops() {
				a.value = p.comprehension("(", a.value)
				if len(items) > 0 || !p.sees(")") {
					p.fail()
				}
			}
		}
		if a.form == formPlain && (unpacked || named && !star) {
			p.fail()
		}
		items = append(items, a)
		if !p.take(",") && !p.sees(")") {
			p.fail()
		}
	}
	return items
}

// parameters reads those of a function up to what closes them.
func (p *parser) parameters(closing string, annotated bool) []item {
	var items []item
	slash, star, optional := false, false, false
	for !p.sees(closing) && !p.failed {
		a := item{form: formNamed}
		switch {
		case p.take("/"):
			a.form = formSlash
			if slash || star || len(items) == 0 {
				p.fail()
			}
			slash = true
		case p.take("**"):
			a.form, a.name = formUnpacked, p.name()
		case p.take("*"):
			a.form = formStar
			if star || p.sees(",") && (p.after(1).kind != tokenName || keyword(p.after(1).text)) {
				p.fail()
			}
			if star = true; !p.sees(",") {
				a.name = p.name()
			}
		default:
			a.name = p.name()
		}
		if annotated && a.name != "" && p.take(":") {
			p.starred(p.expression)
		}
		if a.form == formNamed {
			if p.take("=") {
				a.value = p.expression()
				optional = optional || !star
			} else if optional && !star {
				p.fail()
			}
		}
		items = append(items, a)
		if !p.take(",") || a.form == formUnpacked {
			break
		}
	}
	return items
}

// atom reads a literal, a name or something in brackets.
func (p *parser) atom() *node {
	t := p.next()
	switch {
	case t.kind == tokenNumber:
		value, ok := number(t.text)
		if p.pos++; !ok {
			return p.fail()
		}
		return &node{kind: nodeConstant, value: value}
	case t.kind == tokenText:
		return p.texts()
	case t.kind == tokenName && constant(t.text):
		p.pos++
		return &node{kind: nodeConstant, value: word(t.text)}
	case t.kind == tokenName:
		return &node{kind: nodeName, text: p.name()}
	case p.take("..."):
		return &node{kind: nodeConstant, value: thing(ellipsis)}
	case p.take("["):
		return p.bracket("[", "]", nodeList)
	case p.take("("):
		return p.round()
	case p.take("{"):
		return p.braces()
	default:
		return p.fail()
	}
}

// bracket reads items up to a bracket, or a comprehension.
func (p *parser) bracket(opening, closing string, kind nodeKind) *node {
	n := &node{kind: kind}
	if p.take(closing) {
		return n
	}
	return p.items(n, p.starred(p.named), opening, closing)
}

// items reads what stands behind the first item.
func (p *parser) items(n, first *node, opening, closing string) *node {
	if n.add(first); first.kind != nodeStarred && p.loops() {
		n = p.comprehension(opening, first)
		p.expect(closing)
		return n
	}
	for !p.take(closing) {
		if p.expect(","); p.take(closing) {
			break
		}
		if n.add(p.starred(p.named)); p.failed {
			break
		}
	}
	return n
}

// round reads what stands in round brackets: one expression, a tuple, a yield or a comprehension.
func (p *parser) round() *node {
	if p.next() == (token{tokenName, "yield"}) {
		n := p.yielded()
		p.expect(")")
		return n
	}
	n := p.bracket("(", ")", nodeTuple)
	switch {
	case p.failed || n.kind != nodeTuple || len(n.items) != 1 || p.tokens[p.pos-2] == (token{tokenMark, ","}):
		return n
	case n.child(0).kind == nodeStarred:
		return p.fail()
	default:
		return n.child(0)
	}
}

// braces reads a dict or a set.
func (p *parser) braces() *node {
	n := &node{kind: nodeDict}
	for !p.take("}") && !p.failed {
		if p.take("**") {
			n.items = append(n.items, item{form: formUnpacked, value: p.operand()})
		} else {
			named := p.after(1) == token{tokenMark, ":="}
			key := p.starred(p.named)
			if len(n.items) == 0 && (named || !p.sees(":")) {
				n.kind = nodeSet
				return p.items(n, key, "{", "}")
			}
			if named || key.kind == nodeStarred {
				p.fail()
			}
			p.expect(":")
			n.add(key, p.expression())
			if len(n.items) == 2 && p.loops() {
				n = p.comprehension("{", key, n.child(1))
				p.expect("}")
				return n
			}
		}
		if !p.take(",") && !p.sees("}") {
			p.fail()
		}
	}
	return n
}

// loops says whether the loop of a comprehension comes.
func (p *parser) loops() bool {
	next := p.next()
	return next == token{tokenName, "for"} || next == token{tokenName, "async"}
}

// comprehension reads the loops and conditions behind what it makes.
func (p *parser) comprehension(opening string, made ...*node) *node {
	n := (&node{kind: nodeComprehension, text: opening}).add(made...)
	for p.loops() {
		loop := item{form: formFor}
		if p.word("async") {
			loop.form = formAsync
		}
		if !p.word("for") {
			return p.fail()
		}
		loop.value = p.targets()
		n.items = append(n.items, loop, item{form: formIn, value: p.either()})
		for p.word("if") {
			n.items = append(n.items, item{form: formIf, value: p.either()})
		}
	}
	return n
}

// targets reads what a loop assigns to, with the word behind it.
func (p *parser) targets() *node {
	n := p.list(func() *node { return p.starred(p.operand) })
	if !n.target(true) || !p.word("in") {
		return p.fail()
	}
	return n
}
