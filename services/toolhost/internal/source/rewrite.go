package source

import (
	"math/big"
	"slices"
	"strconv"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// maxItems is how many items a list display may hold before it is put together from several: a function reserves room for the
// items of its longest one.
const maxItems = 64

// rewriter replaces Starlark's operators, subscripts, attributes and loops over texts by calls of builtins that do what
// Python does and keep within the limits. Their names begin with "#", which no source can write.
type rewriter struct {
	*translator
	depth     int
	functions []syntax.Node
}

// call makes the call of a builtin.
func call(at syntax.Position, name string, args ...syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: "#" + name}, Lparen: at, Args: args, Rparen: at}
}

func textOf(at syntax.Position, text string) *syntax.Literal {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: at, Value: text}
}

// enter bounds how deep the tree is; leave goes up again.
func (r *rewriter) enter(node syntax.Node) error {
	if r.depth++; r.depth > maxNesting {
		at, _ := node.Span()
		return wrong(r.source, r.offset(at), "MemoryError", "the source nests too deep")
	}
	return nil
}

func (r *rewriter) leave() { r.depth-- }

func (r *rewriter) refuse(node syntax.Node, message string) error {
	at, _ := node.Span()
	return r.wrong(r.offset(at), "%s", message)
}

func (r *rewriter) body(statements []syntax.Stmt) ([]syntax.Stmt, error) {
	for i := range statements {
		var err error
		if statements[i], err = r.statement(statements[i]); err != nil {
			return nil, err
		}
	}
	return statements, nil
}

func (r *rewriter) statement(statement syntax.Stmt) (_ syntax.Stmt, err error) {
	if err := r.enter(statement); err != nil {
		return nil, err
	}
	defer r.leave()
	switch s := statement.(type) {
	case *syntax.AssignStmt:
		return r.assign(s)
	case *syntax.DefStmt:
		r.functions = append(r.functions, s)
		if err := r.params(s.Params); err != nil {
			return nil, err
		}
		s.Body, err = r.body(s.Body)
	case *syntax.ExprStmt:
		s.X, err = r.expr(s.X)
	case *syntax.IfStmt:
		if s.Cond, err = r.expr(s.Cond); err != nil {
			return nil, err
		}
		if s.True, err = r.body(s.True); err != nil {
			return nil, err
		}
		s.False, err = r.body(s.False)
	case *syntax.ForStmt:
		if err = r.target(s.Vars); err != nil {
			return nil, err
		}
		if s.X, err = r.iterated(s.X); err != nil {
			return nil, err
		}
		s.Body, err = r.body(s.Body)
	case *syntax.WhileStmt:
		if s.Cond, err = r.expr(s.Cond); err != nil {
			return nil, err
		}
		s.Body, err = r.body(s.Body)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result, err = r.expr(s.Result)
		}
	case *syntax.BranchStmt:
	default:
		err = r.refuse(statement, invalidSyntax)
	}
	return statement, err
}

// target checks what is assigned to: names, alone or nested.
func (r *rewriter) target(x syntax.Expr) error {
	if err := r.enter(x); err != nil {
		return err
	}
	defer r.leave()
	switch x := x.(type) {
	case *syntax.Ident:
		if x.Name == "None" || x.Name == "True" || x.Name == "False" {
			return r.refuse(x, "cannot assign to "+x.Name)
		}
		return nil
	case *syntax.ParenExpr:
		return r.target(x.X)
	case *syntax.TupleExpr:
		return r.targets(x.List)
	case *syntax.ListExpr:
		return r.targets(x.List)
	case *syntax.CallExpr:
		return r.refuse(x, "cannot assign to function call")
	case *syntax.Literal:
		return r.refuse(x, "cannot assign to literal")
	case *syntax.BinaryExpr:
		return r.refuse(x, "cannot assign to operator")
	default:
		return r.refuse(x, "the target of this assignment cannot be executed here")
	}
}

func (r *rewriter) targets(list []syntax.Expr) error {
	for _, x := range list {
		if err := r.target(x); err != nil {
			return err
		}
	}
	return nil
}

func (r *rewriter) assign(s *syntax.AssignStmt) (_ syntax.Stmt, err error) {
	operator := ""
	if s.Op != syntax.EQ {
		operator = s.Op.String()
		operator = operator[:len(operator)-1]
	}
	if s.RHS, err = r.expr(s.RHS); err != nil {
		return nil, err
	}
	if subscript, ok := s.LHS.(*syntax.IndexExpr); ok {
		if subscript.X, err = r.expr(subscript.X); err != nil {
			return nil, err
		}
		if subscript.Y, err = r.expr(subscript.Y); err != nil {
			return nil, err
		}
		return &syntax.ExprStmt{X: call(s.OpPos, "setitem", s.RHS, subscript.X, subscript.Y, textOf(s.OpPos, operator))}, nil
	}
	if err := r.target(s.LHS); err != nil {
		return nil, err
	}
	name, single := s.LHS.(*syntax.Ident)
	switch {
	case operator == "" && !single:
		s.RHS = call(s.OpPos, "unpack", s.RHS)
	case operator == "":
	case !single:
		return nil, r.refuse(s.LHS, "illegal expression for augmented assignment")
	default:
		s.Op = syntax.EQ
		s.RHS = call(s.OpPos, "augment", &syntax.Ident{NamePos: name.NamePos, Name: name.Name}, s.RHS, textOf(s.OpPos, operator))
	}
	return s, nil
}

// params rewrites the defaults of parameters.
func (r *rewriter) params(list []syntax.Expr) (err error) {
	for _, x := range list {
		switch x := x.(type) {
		case *syntax.Ident:
			err = r.target(x)
		case *syntax.BinaryExpr:
			if err = r.target(x.X); err == nil {
				x.Y, err = r.expr(x.Y)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// args rewrites the arguments of a call in place. Python lets names follow *more, Starlark does not.
func (r *rewriter) args(list []syntax.Expr) (err error) {
	n := slices.IndexFunc(list, func(x syntax.Expr) bool { return follows(x) > 0 })
	if n >= 0 && !slices.ContainsFunc(list[n:], func(x syntax.Expr) bool { return follows(x) == 0 }) {
		slices.SortStableFunc(list[n:], func(x, y syntax.Expr) int { return follows(x) - follows(y) })
	}
	for i, x := range list {
		named, isNamed := x.(*syntax.BinaryExpr)
		more, isMore := x.(*syntax.UnaryExpr)
		switch {
		case isNamed && named.Op == syntax.EQ:
			named.Y, err = r.expr(named.Y)
		case isMore && more.Op == syntax.STAR:
			if more.X, err = r.expr(more.X); err == nil {
				more.X = call(more.OpPos, "more", more.X)
			}
		case isMore && more.Op == syntax.STARSTAR:
			more.X, err = r.expr(more.X)
		default:
			list[i], err = r.expr(x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follows says which arguments Starlark wants last.
func follows(x syntax.Expr) int {
	more, ok := x.(*syntax.UnaryExpr)
	named, isNamed := x.(*syntax.BinaryExpr)
	switch {
	case ok && more.Op == syntax.STARSTAR:
		return 3
	case ok && more.Op == syntax.STAR:
		return 2
	case isNamed && named.Op == syntax.EQ:
		return 1
	default:
		return 0
	}
}

// iterated rewrites what a loop goes over.
func (r *rewriter) iterated(x syntax.Expr) (syntax.Expr, error) {
	x, err := r.expr(x)
	if err != nil {
		return nil, err
	}
	return call(syntax.Start(x), "iter", x), nil
}

// literal returns what a number in the translation stands for.
func (r *rewriter) literal(x *syntax.Literal) literal {
	text, _ := x.Value.(string)
	i, err := strconv.Atoi(text)
	if err != nil || i >= len(r.literals) {
		return literal{}
	}
	return r.literals[i]
}

// constant makes a constant of a value; the error says that it is too large.
func (r *rewriter) constant(x *syntax.Literal, value python.Value) (syntax.Expr, error) {
	c := &syntax.Literal{TokenPos: x.TokenPos, Raw: x.Raw}
	switch value.Kind() {
	case python.KindStr:
		text, _ := value.AsStr()
		c.Token, c.Value = syntax.STRING, text
	case python.KindFloat:
		number, _ := value.AsFloat()
		c.Token, c.Value = syntax.FLOAT, number
	default:
		i, _ := value.AsBigInt()
		if i == nil {
			i = new(big.Int)
		}
		if i.BitLen() > maxBits {
			return nil, r.refuse(x, "the number is too large")
		}
		c.Token, c.Value = syntax.INT, any(i)
		if i.IsInt64() {
			c.Value = i.Int64()
		}
	}
	return c, nil
}

// withinLocals says whether no function has too many variables. The program must be resolved.
func (r *rewriter) withinLocals() error {
	for _, node := range r.functions {
		var function any
		switch node := node.(type) {
		case *syntax.DefStmt:
			function = node.Function
		case *syntax.LambdaExpr:
			function = node.Function
		}
		if resolved, ok := function.(*resolve.Function); ok && len(resolved.Locals) > maxLocals {
			return r.refuse(node, "a function has more than "+strconv.Itoa(maxLocals)+" variables")
		}
	}
	return nil
}
