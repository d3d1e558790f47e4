package syntax

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/python/limit"
)

// statement reads a compound statement, or a line of simple ones.
func (p *parser) statement(body []Stmt) []Stmt {
	if p.blocks++; p.blocks+p.depth > limit.Nesting {
		p.tooDeep()
	}
	defer func() { p.blocks-- }()
	if p.nextIs("@") {
		return append(body, p.decorated())
	}
	if p.tok.kind == kindName {
		at := Pos(p.tok.at)
		switch p.tok.text {
		case "if":
			return append(body, p.ifStmt())
		case "while":
			p.advance()
			s := &While{Pos: at, Test: p.named()}
			p.recordDepth()
			s.Body = p.loopBody()
			s.Else = p.elseBlock()
			return append(body, s)
		case "for":
			return append(body, p.forStmt())
		case "def":
			return append(body, p.def(nil))
		case "try":
			return append(body, p.tryStmt())
		case "class":
			if p.classes {
				return append(body, p.class())
			}
		}
	}
	return p.line(body)
}

// recordDepth records the nesting depth of the last expression in its function.
func (p *parser) recordDepth() { p.peak = max(p.peak, p.blocks+p.height) }

// line reads simple statements up to the end of the line.
func (p *parser) line(body []Stmt) []Stmt {
	for {
		p.height = 0
		body = p.simple(body)
		p.recordDepth()
		if p.take(";") {
			if p.tok.kind != kindNewline {
				continue
			}
		}
		if p.tok.kind != kindNewline {
			p.unexpected()
		}
		p.advance()
		return body
	}
}

// block reads a colon and the statements behind it.
func (p *parser) block() []Stmt {
	p.expect(":")
	if p.tok.kind != kindNewline {
		return p.line(nil)
	}
	p.expectIndent = true
	p.advance()
	p.advance() // the indent
	var body []Stmt
	for p.tok.kind != kindDedent {
		body = p.statement(body)
	}
	p.advance()
	return body
}

// loopBody parses the body of a loop.
func (p *parser) loopBody() []Stmt {
	around := p.loop
	p.loop = true
	defer func() { p.loop = around }()
	return p.block()
}

func (p *parser) elseBlock() []Stmt {
	if !p.take("else") {
		return nil
	}
	return p.block()
}

// ifStmt parses if, elif and else. An elif is an If alone in Else.
func (p *parser) ifStmt() Stmt {
	first := p.branch()
	last := first
	for p.nextIs("elif") {
		s := p.branch()
		last.Else = []Stmt{s}
		last = s
	}
	last.Else = p.elseBlock()
	return first
}

// branch reads a keyword, a condition and a block.
func (p *parser) branch() *If {
	s := &If{Pos: Pos(p.advance().at), Test: p.named()}
	p.recordDepth()
	s.Then = p.block()
	return s
}

func (p *parser) forStmt() Stmt {
	at := Pos(p.advance().at)
	s := &For{Pos: at, Target: p.targets()}
	p.recordDepth()
	p.expect("in")
	s.Iterable = p.list()
	p.recordDepth()
	s.Body = p.loopBody()
	s.Else = p.elseBlock()
	return s
}

func (p *parser) tryStmt() Stmt {
	s := &Try{Pos: Pos(p.advance().at)}
	s.Body = p.block()
	for p.nextIs("except") {
		at := p.advance().at
		h := Handler{}
		if p.nextIs("*") {
			p.fail(p.tok.at, "'except*' cannot be executed here")
		}
		if !p.nextIs(":") {
			h.Type = p.test()
			p.recordDepth()
			if p.take("as") {
				h.Name = p.variable(p.name())
			}
		}
		if n := len(s.Handlers); n > 0 && s.Handlers[n-1].Type == nil {
			p.fail(at, "default 'except:' must be last")
		}
		h.Body = p.block()
		s.Handlers = append(s.Handlers, h)
	}
	if len(s.Handlers) > 0 {
		s.Else = p.elseBlock()
	}
	if p.take("finally") {
		s.Finally = p.block()
	} else if len(s.Handlers) == 0 {
		if p.tok.kind == kindEnd {
			panic(unexpectedEnd(p.s))
		}
		p.unexpected()
	}
	return s
}

// simple reads one simple statement.
func (p *parser) simple(body []Stmt) []Stmt {
	at := Pos(p.tok.at)
	if p.tok.kind == kindName {
		switch p.tok.text {
		case "pass", "break", "continue":
			word := p.advance().text
			if word == "break" && !p.loop {
				p.postpone("'break' outside loop")
			}
			if word == "continue" && !p.loop {
				p.postpone("'continue' not properly in loop")
			}
			return append(body, &Branch{at, word})
		case "return":
			p.advance()
			if !p.function {
				p.postpone("'return' outside function")
			}
			return append(body, &Return{at, p.optional(p.list)})
		case "raise":
			p.advance()
			s := &Raise{Pos: at, X: p.optional(p.test)}
			if s.X != nil && p.take("from") {
				s.Cause = p.test()
			}
			return append(body, s)
		case "assert":
			p.advance()
			s := &Assert{Pos: at, Test: p.test()}
			if p.take(",") {
				s.Message = p.test()
			}
			return append(body, s)
		case "del":
			p.advance()
			return append(body, p.deletion(at))
		case "global", "nonlocal":
			return append(body, p.declaration())
		case "import":
			return p.importStmt(body)
		case "from":
			return p.importFromStmt(body)
		}
	}
	return append(body, p.expressionStatement())
}

func (p *parser) optional(read func() Expr) Expr {
	if p.tok.kind == kindNewline || p.nextIs(";") {
		return nil
	}
	return read()
}

func (p *parser) deletion(at Pos) Stmt {
	x := p.targets()
	targets := []Expr{x}
	if sequence, ok := x.(*Sequence); ok {
		targets = sequence.Items
	}
	for _, target := range targets {
		switch target.(type) {
		case *Name, *Subscript:
		default:
			p.fail(target.Offset(), "this deletion cannot be executed here")
		}
	}
	return &Delete{at, targets}
}

// declaration reads global and nonlocal.
func (p *parser) declaration() Stmt {
	t := p.advance()
	binding := BindingGlobal
	if t.text == "nonlocal" {
		binding = BindingLocal
	}
	for {
		name := p.name()
		switch _, bound := p.scope.slots[name.text]; {
		case p.scope.kind == scopeModule && binding == BindingLocal:
			p.postpone("nonlocal declaration not allowed at module level")
		case p.scope.kind == scopeModule:
		case bound:
			p.postpone("name '" + name.text + "' is assigned to before " + t.text + " declaration")
		case p.scope.used[name.text]:
			p.postpone("name '" + name.text + "' is used prior to " + t.text + " declaration")
		default:
			if p.scope.declared == nil {
				p.scope.declared = make(map[string]Binding)
			}
			p.scope.declared[name.text] = binding
			if binding == BindingGlobal {
				p.scope.bind(name.text)
			}
		}
		if !p.take(",") {
			return &Branch{Pos(t.at), "pass"}
		}
	}
}

// dotted reads the name of a module.
func (p *parser) dotted() string {
	module := p.name().text
	for p.take(".") {
		module += "." + p.name().text
	}
	return module
}

// alias reads "as name", and returns what is bound: first binds the name itself where there is
// none.
func (p *parser) alias(name string, at int) *Name {
	if p.take("as") {
		return p.variable(p.name())
	}
	return p.variable(token{kindName, name, at})
}

func (p *parser) importStmt(body []Stmt) []Stmt {
	at := Pos(p.advance().at)
	for {
		start := p.tok.at
		s := &Import{Pos: at, Module: p.dotted()}
		first, _, _ := strings.Cut(s.Module, ".")
		s.Name = p.alias(first, start)
		body = append(body, s)
		if !p.take(",") {
			return body
		}
	}
}

func (p *parser) importFromStmt(body []Stmt) []Stmt {
	at := Pos(p.advance().at)
	module := ""
	if p.nextIs(".") || p.nextIs("...") {
		p.fail(p.tok.at, "relative imports cannot be executed here")
	}
	if !p.nextIs("import") {
		module = p.dotted()
	}
	p.expect("import")
	if p.take("*") {
		return append(body, &ImportFrom{Pos: at, Module: module, Member: "*"})
	}
	open := p.take("(")
	for {
		t := p.name()
		if module == "__future__" && t.text == "braces" {
			p.postpone("not a chance")
		}
		body = append(body, &ImportFrom{at, module, t.text, p.alias(t.text, t.at)})
		if !p.take(",") || open && p.nextIs(")") {
			break
		}
	}
	if open {
		p.expect(")")
	}
	return body
}

// expressionStatement reads an expression, or an assignment.
func (p *parser) expressionStatement() Stmt {
	at := Pos(p.tok.at)
	x := p.list()
	if p.tok.kind == kindMark {
		switch p.tok.text {
		case "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "//=", "**=", "<<=", ">>=":
			return p.augmented(at, x, strings.TrimSuffix(p.tok.text, "="))
		}
	}
	switch {
	case p.nextIs(":"):
		return p.annotated(at, x)
	case p.nextIs("="):
		return p.assignment(at, x)
	}
	if _, starred := x.(*Starred); starred {
		p.postpone("can't use starred expression here")
	}
	if name, ok := x.(*Name); ok && p.tok.kind != kindNewline {
		p.printStatement(name)
	}
	return &ExprStmt{at, x}
}

// printStatement fails for a print or exec statement of Python 2.
func (p *parser) printStatement(name *Name) {
	t := p.tok
	if t.kind == kindMark || t.kind == kindName && IsKeyword(t.text) {
		return
	}
	switch name.ID {
	case "exec":
		p.fail(t.at, "Missing parentheses in call to 'exec'")
	case "print":
		end := 0
		for p.tok.kind != kindNewline && !p.nextIs(";") {
			last := p.advance()
			end = last.at + len(last.text)
		}
		p.fail(t.at, "Missing parentheses in call to 'print'. Did you mean print(%s)?", p.s[t.at:end])
	}
}

func (p *parser) augmented(at Pos, x Expr, op string) Stmt {
	if sequence, ok := x.(*Sequence); ok {
		p.fail(x.Offset(), "'%s' is an illegal expression for augmented assignment", map[Kind]string{KindTuple: "tuple", KindList: "list"}[sequence.Kind])
	}
	p.target(x)
	height := p.height
	p.advance()
	value := p.list()
	p.nest(height, p.height)
	return &AugAssign{at, x, op, value}
}

func (p *parser) annotated(at Pos, x Expr) Stmt {
	switch x.(type) {
	case *Name, *Attribute, *Subscript:
	case *Sequence:
		p.fail(x.Offset(), "only single target (not tuple) can be annotated")
	default:
		p.fail(x.Offset(), "illegal target for annotation")
	}
	p.target(x)
	height := p.height
	p.advance()
	s := &AnnAssign{Pos: at, Target: x, Hint: p.test()}
	height = max(height, p.height)
	if p.take("=") {
		s.X = p.list()
	}
	p.nest(height, p.height)
	return s
}

func (p *parser) assignment(at Pos, x Expr) Stmt {
	s := &Assign{Pos: at, X: x}
	height := p.height
	for p.take("=") {
		p.target(s.X)
		s.Targets = append(s.Targets, s.X)
		s.X = p.list()
		height = max(height, p.height)
	}
	if _, starred := s.X.(*Starred); starred {
		p.postpone("can't use starred expression here")
	}
	p.nest(height)
	return s
}
