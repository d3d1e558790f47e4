package syntax

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/python/limit"
)

// parser is a recursive descent parser. It raises errors as panics with an *Error, which Parse
// recovers.
type parser struct {
	lexer
	tok   token
	scope *Scope
	// depth is how deep the descent is, height how deep the expression nests that was read last,
	// and peak how deep the function.
	depth, height, peak int
	blocks              int // around the statement
	function            bool
	loop                bool
	classes             bool    // are read
	assigned            []*Name // by :=
	lateError           *Error  // of a check that Python makes when everything is read
}

func (p *parser) advance() token {
	t := p.tok
	p.tok = p.next()
	return t
}

// nextIs reports whether the next token is the operator or keyword.
func (p *parser) nextIs(text string) bool {
	return p.tok.text == text && (p.tok.kind == kindMark || p.tok.kind == kindName)
}

// take consumes an operator or keyword if it is next.
func (p *parser) take(text string) bool {
	if !p.nextIs(text) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expect(text string) token {
	if !p.nextIs(text) {
		p.unexpected()
	}
	return p.advance()
}

// unexpected fails at the next token.
func (p *parser) unexpected() {
	if p.tok.kind == kindName {
		switch p.tok.text {
		case "async", "await", "class", "with", "yield":
			p.fail(p.tok.at, "'%s' cannot be executed here", p.tok.text)
		}
	}
	p.fail(p.tok.at, invalidSyntax)
}

// postpone notes the first error that Python finds only when everything is read.
func (p *parser) postpone(message string) {
	if p.lateError == nil {
		p.lateError = errorWithoutPosition(message)
	}
}

// enter bounds the descent; leave goes up again.
func (p *parser) enter() {
	if p.depth++; p.depth > limit.Nesting {
		p.tooDeep()
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) tooDeep() {
	panic(errorAt(p.s, p.tok.at, memoryError, "the source nests too deep"))
}

// nest sets the height of an expression over the heights of its parts.
func (p *parser) nest(heights ...int) {
	if p.height = slices.Max(heights) + 1; p.height > limit.Nesting {
		p.tooDeep()
	}
}

// name reads a name that is no keyword.
func (p *parser) name() token {
	if p.tok.kind != kindName || IsKeyword(p.tok.text) {
		p.unexpected()
	}
	return p.advance()
}

// variable returns a name that is assigned to.
func (p *parser) variable(t token) *Name {
	n := &Name{Pos: Pos(t.at), ID: t.text}
	p.scope.bind(n.ID)
	p.scope.use(n)
	return n
}

// list reads expressions with commas between them: one as it is, else a tuple.
func (p *parser) list() Expr {
	at, comma, height := p.tok.at, false, 0
	var items []Expr
	for p.startsExpression() {
		items = append(items, p.item(p.test))
		height = max(height, p.height)
		if comma = p.take(","); !comma {
			break
		}
	}
	switch {
	case len(items) == 0:
		p.unexpected()
	case len(items) == 1 && !comma:
		if starred, ok := items[0].(*Starred); ok {
			return starred
		}
		return items[0]
	}
	p.nest(height)
	return &Sequence{Pos(at), KindTuple, items}
}

// startsExpression reports whether the next token can begin an expression.
func (p *parser) startsExpression() bool {
	switch p.tok.kind {
	case kindName:
		switch p.tok.text {
		case "not", "lambda", "None", "True", "False", "yield", "await":
			return true
		}
		return !IsKeyword(p.tok.text)
	case kindNumber, kindText, kindFormat:
		return true
	case kindMark:
		switch p.tok.text {
		case "(", "[", "{", "-", "+", "~", "*", "...":
			return true
		}
		return false
	default:
		return false
	}
}

// item reads an expression with a star or without.
func (p *parser) item(read func() Expr) Expr {
	if p.nextIs("*") {
		at := p.advance().at
		x := &Starred{Pos(at), p.binary(0)}
		p.nest(p.height)
		return x
	}
	return read()
}

// named reads an expression that may be an assignment.
func (p *parser) named() Expr {
	x := p.test()
	name, ok := x.(*Name)
	if !ok || !p.nextIs(":=") {
		return x
	}
	p.advance()
	scope := p.scope
	for scope.kind == scopeComprehension {
		scope = scope.parent
	}
	scope.bind(name.ID)
	p.assigned = append(p.assigned, name)
	value := p.test()
	p.nest(p.height)
	return &NamedExpr{name.Pos, name, value}
}

// test reads an expression: a condition, a lambda, or what binds tighter.
func (p *parser) test() Expr {
	p.enter()
	defer p.leave()
	if p.nextIs("lambda") {
		return p.lambda()
	}
	x := p.or()
	if !p.nextIs("if") {
		return x
	}
	height := p.height
	p.advance()
	test := p.or()
	height = max(height, p.height)
	p.expect("else")
	other := p.test()
	p.nest(height, p.height)
	return &IfExpr{Pos(x.Offset()), test, x, other}
}

func (p *parser) or() Expr {
	x := p.and()
	for p.nextIs("or") {
		height := p.height
		p.advance()
		y := p.and()
		p.nest(height, p.height)
		x = &BoolOp{Pos(x.Offset()), true, x, y}
	}
	return x
}

func (p *parser) and() Expr {
	x := p.not()
	for p.nextIs("and") {
		height := p.height
		p.advance()
		y := p.not()
		p.nest(height, p.height)
		x = &BoolOp{Pos(x.Offset()), false, x, y}
	}
	return x
}

func (p *parser) not() Expr {
	if !p.nextIs("not") {
		return p.comparison()
	}
	p.enter()
	defer p.leave()
	at := p.advance().at
	x := p.not()
	p.nest(p.height)
	return &Unary{Pos(at), "not", x}
}

func (p *parser) comparison() Expr {
	x := p.binary(0)
	height := p.height
	var c *Compare
	for {
		op := p.comparator()
		if op == "" {
			break
		}
		if c == nil {
			c = &Compare{Pos: Pos(x.Offset()), X: x}
		}
		c.Ops = append(c.Ops, op)
		c.Rights = append(c.Rights, p.binary(0))
		height = max(height, p.height)
	}
	if c == nil {
		return x
	}
	p.nest(height)
	return c
}

// comparator reads an operator of a comparison, empty if none is next.
func (p *parser) comparator() string {
	switch p.tok.text {
	case "<", "<=", ">", ">=", "==", "!=":
		if p.tok.kind == kindMark {
			return p.advance().text
		}
	case "in":
		if p.tok.kind == kindName {
			return p.advance().text
		}
	case "not":
		if p.tok.kind == kindName {
			p.advance()
			p.expect("in")
			return "not in"
		}
	case "is":
		if p.tok.kind == kindName {
			p.advance()
			if p.take("not") {
				return "is not"
			}
			return "is"
		}
	}
	return ""
}

// binary reads operators of a level and of those that bind tighter.
func (p *parser) binary(level int) Expr {
	levels := [...][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%", "@"}}
	if level == len(levels) {
		return p.unary()
	}
	x := p.binary(level + 1)
	for p.tok.kind == kindMark && slices.Contains(levels[level], p.tok.text) {
		height := p.height
		op := p.advance().text
		y := p.binary(level + 1)
		p.nest(height, p.height)
		x = &Binary{Pos(x.Offset()), op, x, y}
	}
	return x
}

func (p *parser) unary() Expr {
	p.enter()
	defer p.leave()
	if p.nextIs("-") || p.nextIs("+") || p.nextIs("~") {
		op := p.advance()
		x := p.unary()
		p.nest(p.height)
		return &Unary{Pos(op.at), op.text, x}
	}
	x := p.primary()
	if !p.nextIs("**") {
		return x
	}
	height := p.height
	p.advance()
	y := p.unary()
	p.nest(height, p.height)
	return &Binary{Pos(x.Offset()), "**", x, y}
}

// primary reads an atom and the calls, subscripts and attributes behind it.
func (p *parser) primary() Expr {
	x := p.atom()
	for {
		height := p.height
		switch {
		case p.nextIs("("):
			args := p.arguments()
			p.nest(height, p.height)
			x = &Call{Pos(x.Offset()), x, args}
		case p.nextIs("["):
			p.advance()
			index := p.subscript()
			p.expect("]")
			p.nest(height, p.height)
			x = &Subscript{Pos(x.Offset()), x, index}
		case p.nextIs("."):
			p.advance()
			x = &Attribute{Pos(x.Offset()), x, p.name().text}
			p.nest(height)
		default:
			return x
		}
	}
}

// subscript reads what stands in a subscript.
func (p *parser) subscript() Expr {
	at, height := p.tok.at, 0
	var items []Expr
	comma := false
	for !p.nextIs("]") {
		items = append(items, p.slice())
		height = max(height, p.height)
		if comma = p.take(","); !comma {
			break
		}
	}
	switch {
	case len(items) == 0:
		p.unexpected()
	case len(items) == 1 && !comma:
		return items[0]
	}
	p.nest(height)
	return &Sequence{Pos(at), KindTuple, items}
}

func (p *parser) slice() Expr {
	at, height := p.tok.at, 0
	var x Expr
	if !p.nextIs(":") {
		x = p.named()
		height = p.height
		if !p.nextIs(":") {
			return x
		}
	}
	s := &Slice{Pos: Pos(at), Low: x}
	for _, part := range []*Expr{&s.High, &s.Step} {
		if !p.take(":") {
			break
		}
		if !p.nextIs(":") && !p.nextIs(",") && !p.nextIs("]") {
			*part = p.test()
			height = max(height, p.height)
		}
	}
	p.nest(height)
	return s
}

// arguments reads the arguments of a call with their brackets.
func (p *parser) arguments() []Argument {
	p.expect("(")
	var args []Argument
	height, keyword, unpacked := 0, false, false
	for !p.nextIs(")") {
		arg := Argument{}
		since := p.scope.checkpoint()
		switch {
		case p.take("**"):
			arg.Stars, unpacked = 2, true
			arg.X = p.test()
		case p.take("*"):
			arg.Stars = 1
			arg.X = p.test()
			if unpacked {
				p.fail(p.tok.at, "iterable argument unpacking follows keyword argument unpacking")
			}
		default:
			arg.X = p.named()
			name, isName := arg.X.(*Name)
			switch {
			case isName && p.nextIs("="):
				p.advance()
				arg.Name, keyword = name.ID, true
				p.scope.uses = p.scope.uses[:len(p.scope.uses)-1]
				if slices.ContainsFunc(args, func(a Argument) bool { return a.Name == name.ID }) {
					p.postpone("keyword argument repeated: " + name.ID)
				}
				arg.X = p.test()
			case p.nextIs("="):
				p.fail(arg.X.Offset(), `expression cannot contain assignment, perhaps you meant "=="?`)
			case p.nextIs("for"):
				at := arg.X.Offset()
				arg.X = p.comprehension(KindGenerator, Pos(at), nil, arg.X, since)
				if len(args) > 0 || !p.nextIs(")") {
					p.fail(at, "Generator expression must be parenthesized")
				}
			case unpacked:
				p.fail(p.tok.at, "positional argument follows keyword argument unpacking")
			case keyword:
				p.fail(p.tok.at, "positional argument follows keyword argument")
			}
		}
		height = max(height, p.height)
		args = append(args, arg)
		if !p.take(",") {
			break
		}
	}
	p.expect(")")
	p.height = height
	return args
}
