package source

import (
	"go.starlark.net/syntax"
)

// expr rewrites an expression.
func (r *rewriter) expr(expr syntax.Expr) (_ syntax.Expr, err error) {
	if err := r.enter(expr); err != nil {
		return nil, err
	}
	defer r.leave()
	switch x := expr.(type) {
	case *syntax.Ident:
		return x, nil
	case *syntax.Literal:
		l := r.literal(x)
		if l.kind == literalName {
			return &syntax.Ident{NamePos: x.TokenPos, Name: l.name}, nil
		}
		return r.constant(x, l.value)
	case *syntax.ParenExpr:
		return r.expr(x.X)
	case *syntax.CallExpr:
		return r.call(x)
	case *syntax.DotExpr:
		if x.X, err = r.expr(x.X); err != nil {
			return nil, err
		}
		return call(x.Dot, "attribute", x.X, textOf(x.NamePos, x.Name.Name)), nil
	case *syntax.BinaryExpr:
		return r.binary(x)
	case *syntax.UnaryExpr:
		return r.unary(x)
	case *syntax.IndexExpr:
		return r.subscript(x)
	case *syntax.SliceExpr:
		return r.slice(x)
	case *syntax.ListExpr:
		if err := r.items(x.List); err != nil {
			return nil, err
		}
		return list(x.Lbrack, x.List), nil
	case *syntax.TupleExpr:
		return r.tuple(x)
	case *syntax.DictExpr:
		return r.dict(x)
	case *syntax.Comprehension:
		return r.comprehension(x)
	case *syntax.CondExpr:
		if err := r.each(&x.Cond, &x.True, &x.False); err != nil {
			return nil, err
		}
		return x, nil
	case *syntax.LambdaExpr:
		r.functions = append(r.functions, x)
		if err := r.params(x.Params); err != nil {
			return nil, err
		}
		x.Body, err = r.expr(x.Body)
		return x, err
	default:
		return nil, r.refuse(expr, invalidSyntax)
	}
}

// subscript rewrites a subscript, or the power that is written as one.
func (r *rewriter) subscript(x *syntax.IndexExpr) (syntax.Expr, error) {
	if pair, ok := x.Y.(*syntax.TupleExpr); ok && len(pair.List) == 2 {
		if mark, ok := pair.List[0].(*syntax.Literal); ok && r.literal(mark).kind == literalPower {
			err := r.each(&x.X, &pair.List[1])
			return call(x.Lbrack, "power", x.X, pair.List[1]), err
		}
	}
	err := r.each(&x.X, &x.Y)
	return call(x.Lbrack, "item", x.X, x.Y), err
}

func (r *rewriter) tuple(x *syntax.TupleExpr) (syntax.Expr, error) {
	if err := r.items(x.List); err != nil || len(x.List) <= maxItems {
		return x, err
	}
	at := syntax.Start(x)
	return call(at, "tuple", list(at, x.List)), nil
}

// each rewrites the given expressions in place; nil ones stay.
func (r *rewriter) each(places ...*syntax.Expr) (err error) {
	for _, place := range places {
		if *place == nil {
			continue
		}
		if *place, err = r.expr(*place); err != nil {
			return err
		}
	}
	return nil
}

func (r *rewriter) items(list []syntax.Expr) error {
	for i := range list {
		if err := r.each(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// list makes a list display; a long one is put together from several.
func list(at syntax.Position, items []syntax.Expr) syntax.Expr {
	if len(items) <= maxItems {
		return &syntax.ListExpr{Lbrack: at, List: items, Rbrack: at}
	}
	size := maxItems
	for size*maxItems < len(items) {
		size *= maxItems
	}
	var pieces []syntax.Expr
	for ; len(items) > 0; items = items[min(size, len(items)):] {
		pieces = append(pieces, list(at, items[:min(size, len(items))]))
	}
	return call(at, "concatenate", pieces...)
}

// call rewrites a call, an f-string or the import of what does not exist.
func (r *rewriter) call(x *syntax.CallExpr) (_ syntax.Expr, err error) {
	if number, ok := x.Fn.(*syntax.Literal); ok {
		switch l := r.literal(number); l.kind {
		case literalFormat:
			return r.format(x, l.parts)
		case literalModule:
			return call(x.Lparen, "missing", textOf(x.Lparen, l.name)), nil
		case literalGenerator:
			if err := r.items(x.Args); err != nil {
				return nil, err
			}
			return call(x.Lparen, "generator", x.Args...), nil
		case literalValue, literalName, literalPower:
		}
	}
	if x.Fn, err = r.expr(x.Fn); err != nil {
		return nil, err
	}
	return x, r.args(x.Args)
}

func (r *rewriter) format(x *syntax.CallExpr, parts []part) (syntax.Expr, error) {
	at := x.Lparen
	var pieces []syntax.Expr
	args := x.Args
	for _, p := range parts {
		if !p.field {
			pieces = append(pieces, textOf(at, p.text))
			continue
		}
		if len(args) == 0 {
			return nil, r.refuse(x, "f-string: "+invalidSyntax)
		}
		value, err := r.expr(args[0])
		if err != nil {
			return nil, err
		}
		args = args[1:]
		pieces = append(pieces, call(at, "field", value, textOf(at, p.conversion), textOf(at, p.spec)))
	}
	if len(args) > 0 {
		return nil, r.refuse(x, "f-string: "+invalidSyntax)
	}
	return call(at, "join", list(at, pieces)), nil
}

func (r *rewriter) binary(x *syntax.BinaryExpr) (syntax.Expr, error) {
	if err := r.each(&x.X, &x.Y); err != nil {
		return nil, err
	}
	switch x.Op {
	case syntax.AND, syntax.OR:
		return x, nil
	case syntax.EQ:
		return nil, r.refuse(x, invalidSyntax)
	case syntax.EQL, syntax.NEQ:
		if r.identity[position{x.OpPos.Line, x.OpPos.Col}] {
			return call(x.OpPos, "is", x.X, x.Y, textOf(x.OpPos, x.Op.String())), nil
		}
	}
	return call(x.OpPos, x.Op.String(), x.X, x.Y), nil
}

func (r *rewriter) unary(x *syntax.UnaryExpr) (syntax.Expr, error) {
	if x.X == nil {
		return nil, r.refuse(x, invalidSyntax)
	}
	if err := r.each(&x.X); err != nil {
		return nil, err
	}
	switch x.Op {
	case syntax.NOT:
		return x, nil
	case syntax.MINUS, syntax.PLUS, syntax.TILDE:
		return call(x.OpPos, "unary", x.X, textOf(x.OpPos, x.Op.String())), nil
	default:
		return nil, unmarked("can't use starred expression here")
	}
}

func (r *rewriter) slice(x *syntax.SliceExpr) (syntax.Expr, error) {
	for _, bound := range []*syntax.Expr{&x.Lo, &x.Hi, &x.Step} {
		if *bound == nil {
			*bound = &syntax.Ident{NamePos: x.Lbrack, Name: "#none"}
		}
	}
	if err := r.each(&x.X, &x.Lo, &x.Hi, &x.Step); err != nil {
		return nil, err
	}
	return call(x.Lbrack, "slice", x.X, x.Lo, x.Hi, x.Step), nil
}

func (r *rewriter) dict(x *syntax.DictExpr) (syntax.Expr, error) {
	var flat []syntax.Expr
	for _, item := range x.List {
		entry, ok := item.(*syntax.DictEntry)
		if !ok {
			return nil, r.refuse(x, invalidSyntax)
		}
		if err := r.each(&entry.Key, &entry.Value); err != nil {
			return nil, err
		}
		flat = append(flat, entry.Key, entry.Value)
	}
	return call(x.Lbrace, "dict", list(x.Lbrace, flat)), nil
}

func (r *rewriter) comprehension(x *syntax.Comprehension) (_ syntax.Expr, err error) {
	entry, isEntry := x.Body.(*syntax.DictEntry)
	switch {
	case x.Curly && !isEntry:
		return nil, r.refuse(x, "sets cannot be executed here")
	case isEntry:
		if err := r.each(&entry.Key, &entry.Value); err != nil {
			return nil, err
		}
		entry.Key = call(entry.Colon, "key", entry.Key)
	default:
		if err := r.each(&x.Body); err != nil {
			return nil, err
		}
	}
	for _, clause := range x.Clauses {
		switch clause := clause.(type) {
		case *syntax.ForClause:
			if err := r.target(clause.Vars); err != nil {
				return nil, err
			}
			if clause.X, err = r.iterated(clause.X); err != nil {
				return nil, err
			}
		case *syntax.IfClause:
			if err := r.each(&clause.Cond); err != nil {
				return nil, err
			}
		}
	}
	return x, nil
}
