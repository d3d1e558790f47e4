package syntax

func (p *parser) lambda() Expr {
	at := p.expect("lambda").at
	f := &Function{Name: "<lambda>", Args: -1, Kwargs: -1}
	args, kwargs := p.params(f, ":", false)
	p.expect(":")
	leave := p.enterFunction(f, args, kwargs)
	x := p.test()
	f.Body = []Stmt{&Return{Pos(x.Offset()), x}}
	f.Nesting = p.height + 1
	leave()
	p.nest(p.height)
	return &Lambda{Pos(at), f}
}

// enterFunction makes the scope of a function whose parameters were read, and returns what goes
// back to the scope around it.
func (p *parser) enterFunction(f *Function, args, kwargs string) (leave func()) {
	outer, function, loop := p.scope, p.function, p.loop
	p.scope, p.function, p.loop = newScope(scopeFunction, outer), true, false
	f.Scope = p.scope
	seen := make(map[string]bool)
	bind := func(name string) int {
		if seen[name] {
			p.postpone("duplicate argument '" + name + "' in function definition")
		}
		seen[name] = true
		return p.scope.bind(name)
	}
	for i := range f.Params {
		bind(f.Params[i].Name)
	}
	if args != "" {
		f.Args = bind(args)
	}
	if kwargs != "" {
		f.Kwargs = bind(kwargs)
	}
	return func() { p.scope, p.function, p.loop = outer, function, loop }
}

// params reads parameters up to a closing mark. args and kwargs are the names behind * and **.
func (p *parser) params(f *Function, closing string, hints bool) (args, kwargs string) {
	optional, star, height := false, false, 0
	hint := func() Expr {
		if !hints || !p.take(":") {
			return nil
		}
		return p.test()
	}
	for !p.nextIs(closing) {
		switch {
		case kwargs != "":
			p.unexpected()
		case p.take("**"):
			kwargs = p.name().text
			hint()
		case p.nextIs("*") && !star:
			p.advance()
			star, optional = true, false
			if f.Positional = len(f.Params); p.tok.kind == kindName {
				args = p.name().text
				hint()
			} else if !p.nextIs(",") {
				p.fail(p.tok.at, "named arguments must follow bare *")
			}
		case p.nextIs("/") && !star && f.PositionalOnly == 0 && len(f.Params) > 0:
			p.advance()
			f.PositionalOnly = len(f.Params)
		default:
			at := p.tok.at
			param := Param{Name: p.name().text, Hint: hint()}
			if p.take("=") {
				param.Default = p.test()
				height, optional = max(height, p.height), true
			} else if optional && !star {
				p.fail(at, "non-default argument follows default argument")
			}
			f.Params = append(f.Params, param)
		}
		if !p.take(",") {
			break
		}
	}
	if !star {
		f.Positional = len(f.Params)
	}
	p.height = height
	return args, kwargs
}

// decorated reads a function with its decorators.
func (p *parser) decorated() Stmt {
	var decorators []Expr
	for p.take("@") {
		p.height = 0
		decorators = append(decorators, p.named())
		p.recordDepth()
		if p.tok.kind != kindNewline {
			p.unexpected()
		}
		p.advance()
	}
	if !p.nextIs("def") {
		p.unexpected()
	}
	return p.def(decorators)
}

func (p *parser) def(decorators []Expr) Stmt {
	at := Pos(p.advance().at)
	t := p.name()
	f := &Function{Name: t.text, Args: -1, Kwargs: -1}
	p.expect("(")
	args, kwargs := p.params(f, ")", true)
	p.recordDepth()
	p.expect(")")
	if p.take("->") {
		f.Returns = p.test()
	}
	name := p.variable(t)
	leave := p.enterFunction(f, args, kwargs)
	peak, blocks := p.peak, p.blocks
	p.peak, p.depth, p.blocks = 0, p.depth+blocks, 0
	f.Body = p.block()
	f.Nesting = p.peak + 1
	p.peak, p.depth, p.blocks = peak, p.depth-blocks, blocks
	leave()
	f.Doc = docstring(f.Body)
	return &Def{at, name, f, decorators}
}

// docstring returns the text that a body begins with.
func docstring(body []Stmt) (doc string) {
	if do, ok := body[0].(*ExprStmt); ok {
		if constant, ok := do.X.(*Constant); ok {
			doc, _ = constant.Value.(string)
		}
	}
	return doc
}

// class reads a class with its bases. Its attributes are the variables of a scope of its own.
func (p *parser) class() Stmt {
	s := &Class{Pos: Pos(p.advance().at)}
	t := p.name()
	if p.take("(") {
		for !p.nextIs(")") {
			s.Bases = append(s.Bases, p.test())
			p.recordDepth()
			if !p.take(",") {
				break
			}
		}
		p.expect(")")
	}
	s.Name = p.variable(t)
	leave := p.enterFunction(&Function{Args: -1, Kwargs: -1}, "", "")
	p.function = false
	s.Scope = p.scope
	s.Body = p.block()
	leave()
	s.Doc = docstring(s.Body)
	return s
}
