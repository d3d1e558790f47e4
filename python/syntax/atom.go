package syntax

import (
	"strings"
)

// atom reads a name, a literal or a display.
func (p *parser) atom() Expr {
	t := p.tok
	at := Pos(t.at)
	p.height = 1
	switch t.kind {
	case kindNumber:
		value, ok := numberValue(t.text)
		if !ok {
			p.fail(t.at, "invalid decimal literal")
		}
		p.advance()
		return &Constant{at, value}
	case kindText, kindFormat:
		return p.texts()
	case kindName:
		switch t.text {
		case "None", "True", "False":
			p.advance()
			return &Constant{at, map[string]any{"True": true, "False": false}[t.text]}
		}
		p.name()
		n := &Name{Pos: at, ID: t.text}
		p.scope.use(n)
		return n
	case kindMark:
		switch t.text {
		case "...":
			p.advance()
			return &Constant{at, Ellipsis}
		case "(":
			return p.parenthesis()
		case "[":
			return p.display(KindList, "]")
		case "{":
			return p.braces()
		}
	}
	p.unexpected()
	return nil
}

// parenthesis reads a tuple, a generator, or an expression in brackets.
func (p *parser) parenthesis() Expr {
	at := p.expect("(").at
	if p.take(")") {
		return &Sequence{Pos: Pos(at), Kind: KindTuple}
	}
	since := p.scope.checkpoint()
	x := p.item(p.named)
	switch {
	case p.nextIs("for"):
		x = p.comprehension(KindGenerator, Pos(at), nil, x, since)
	case p.nextIs(","):
		x = &Sequence{Pos(at), KindTuple, p.items(x, ")")}
	default:
		if _, starred := x.(*Starred); starred {
			p.postpone("can't use starred expression here")
		}
		p.nest(p.height)
	}
	p.expect(")")
	return x
}

// items reads the items of a display behind the first one.
func (p *parser) items(first Expr, closing string) []Expr {
	items, height := []Expr{first}, p.height
	for p.take(",") && !p.nextIs(closing) {
		items = append(items, p.item(p.named))
		height = max(height, p.height)
	}
	p.nest(height)
	return items
}

// display reads a list.
func (p *parser) display(kind Kind, closing string) Expr {
	at := Pos(p.advance().at)
	if p.take(closing) {
		return &Sequence{Pos: at, Kind: kind}
	}
	since := p.scope.checkpoint()
	first := p.item(p.named)
	return p.rest(kind, closing, at, first, since)
}

// rest reads a display of a list or set behind its first item.
func (p *parser) rest(kind Kind, closing string, at Pos, first Expr, since checkpoint) Expr {
	var x Expr
	if p.nextIs("for") {
		x = p.comprehension(kind, at, nil, first, since)
	} else {
		x = &Sequence{at, kind, p.items(first, closing)}
	}
	p.expect(closing)
	return x
}

// braces reads a dict or set.
func (p *parser) braces() Expr {
	at := Pos(p.expect("{").at)
	if p.take("}") {
		return &Dict{Pos: at}
	}
	since := p.scope.checkpoint()
	if !p.nextIs("**") {
		first := p.item(p.named)
		if !p.nextIs(":") {
			return p.rest(KindSet, "}", at, first, since)
		}
		height := p.height
		p.advance()
		value := p.test()
		height = max(height, p.height)
		if p.nextIs("for") {
			x := p.comprehension(KindDict, at, first, value, since)
			p.expect("}")
			return x
		}
		return p.dict(at, []Expr{first}, []Expr{value}, height)
	}
	return p.dict(at, nil, nil, 0)
}

// dict reads a dict behind its first item.
func (p *parser) dict(at Pos, keys, values []Expr, height int) Expr {
	for !p.nextIs("}") {
		if len(keys) > 0 && !p.take(",") || p.nextIs("}") {
			break
		}
		var key Expr
		if p.take("**") {
			values = append(values, p.binary(0))
		} else {
			key = p.test()
			height = max(height, p.height)
			p.expect(":")
			values = append(values, p.test())
		}
		height = max(height, p.height)
		keys = append(keys, key)
	}
	p.expect("}")
	p.nest(height)
	return &Dict{at, keys, values}
}

// comprehension reads the clauses of a comprehension whose element was read since a mark.
func (p *parser) comprehension(kind Kind, at Pos, key, value Expr, since checkpoint) Expr {
	height, outer := p.height, p.scope
	for _, x := range []Expr{key, value} {
		if starred, ok := x.(*Starred); ok {
			p.fail(starred.Offset(), "iterable unpacking cannot be used in comprehension")
		}
	}
	inner := newScope(scopeComprehension, outer)
	outer.adopt(inner, since)
	c := &Comprehension{Pos: at, Kind: kind, Key: key, Value: value, Scope: inner}
	for p.take("for") {
		p.scope = inner
		clause := Clause{Target: p.targets()}
		height = max(height, p.height)
		p.expect("in")
		if len(c.Clauses) == 0 {
			p.scope = outer
		}
		assigned := len(p.assigned)
		clause.Iterable = p.or()
		if len(p.assigned) > assigned {
			p.postpone("assignment expression cannot be used in a comprehension iterable expression")
		}
		height = max(height, p.height)
		p.scope = inner
		for p.take("if") {
			clause.Conditions = append(clause.Conditions, p.condition())
			height = max(height, p.height)
		}
		c.Clauses = append(c.Clauses, clause)
	}
	if p.nextIs("async") {
		p.unexpected()
	}
	p.scope = outer
	for _, name := range p.assigned {
		if _, bound := inner.slots[name.ID]; bound && name.Pos >= at {
			p.postpone("assignment expression cannot rebind comprehension iteration variable '" + name.ID + "'")
		}
	}
	p.nest(height + len(c.Clauses))
	return c
}

// condition reads a condition of a comprehension, which may be an assignment.
func (p *parser) condition() Expr {
	x := p.or()
	if name, ok := x.(*Name); ok && p.take(":=") {
		scope := p.scope
		for scope.kind == scopeComprehension {
			scope = scope.parent
		}
		scope.bind(name.ID)
		p.assigned = append(p.assigned, name)
		value := p.test()
		return &NamedExpr{name.Pos, name, value}
	}
	return x
}

// targets reads what a loop assigns to.
func (p *parser) targets() Expr {
	at, comma, height := p.tok.at, false, 0
	var items []Expr
	for p.startsExpression() {
		items = append(items, p.item(func() Expr { return p.binary(0) }))
		height = max(height, p.height)
		if comma = p.take(","); !comma {
			break
		}
	}
	if len(items) == 0 {
		p.unexpected()
	}
	x := items[0]
	if len(items) > 1 || comma {
		p.nest(height)
		x = &Sequence{Pos(at), KindTuple, items}
	}
	p.target(x)
	return x
}

// target makes an expression one that is assigned to.
func (p *parser) target(x Expr) {
	what := ""
	switch x := x.(type) {
	case *Name:
		p.scope.bind(x.ID)
		return
	case *Attribute, *Subscript:
		return
	case *Starred:
		p.postpone("starred assignment target must be in a list or tuple")
		return
	case *Sequence:
		if x.Kind != KindSet {
			p.targetItems(x.Items)
			return
		}
		what = "set display"
	case *Constant:
		switch value := x.Value.(type) {
		case nil:
			what = "None"
		case bool:
			what = map[bool]string{true: "True", false: "False"}[value]
		case EllipsisType:
			what = "Ellipsis"
		default:
			what = "literal"
		}
	case *Call:
		what = "function call"
	case *Binary, *Unary, *BoolOp:
		what = "operator"
	case *Compare:
		what = "comparison"
	case *IfExpr:
		what = "conditional expression"
	case *Lambda:
		what = "lambda"
	case *Dict:
		what = "dict display"
	case *JoinedStr:
		what = "f-string expression"
	case *NamedExpr:
		what = "named expression"
	case *Comprehension:
		what = [...]string{KindList: "list comprehension", KindSet: "set comprehension", KindDict: "dict comprehension", KindGenerator: "generator expression"}[x.Kind]
	}
	p.fail(x.Offset(), "cannot assign to %s", what)
}

func (p *parser) targetItems(items []Expr) {
	stars := 0
	for _, item := range items {
		if starred, ok := item.(*Starred); ok {
			if stars++; stars == 2 {
				p.postpone("multiple starred expressions in assignment")
			}
			item = starred.X
		}
		p.target(item)
	}
}

// texts reads adjacent string literals.
func (p *parser) texts() Expr {
	at := Pos(p.tok.at)
	var parts []Expr
	var text strings.Builder
	formatted, height := false, 0
	flush := func() {
		if text.Len() > 0 {
			parts = append(parts, &Constant{at, text.String()})
			text.Reset()
		}
	}
	for p.tok.kind == kindText || p.tok.kind == kindFormat {
		if p.tok.kind == kindText {
			text.WriteString(p.literal(p.tok.text, p.tok.at))
			p.advance()
			continue
		}
		formatted = true
		for _, part := range p.joined(p.tok) {
			if piece, ok := part.(*Constant); ok {
				s, _ := piece.Value.(string)
				text.WriteString(s)
				continue
			}
			flush()
			parts = append(parts, part)
			height = max(height, p.height)
		}
		p.advance()
	}
	p.height = 1
	if !formatted {
		return &Constant{at, text.String()}
	}
	flush()
	p.nest(height + 1)
	return &JoinedStr{at, parts}
}

// literal returns the value of a string literal.
func (p *parser) literal(source string, at int) string {
	text, ok := stringValue(source)
	if !ok {
		p.fail(at, "(unicode error) 'unicodeescape' codec can't decode bytes")
	}
	return text
}
