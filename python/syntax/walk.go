package syntax

// Walk calls visit with each statement and expression of a block, outer ones first, until visit
// returns false for what is around them. Hints are omitted.
func Walk(body []Stmt, visit func(node Expr) bool) { walker(visit).stmts(body) }

// WalkExpr is Walk for an expression. It may be nil.
func WalkExpr(x Expr, visit func(node Expr) bool) { walker(visit).exprs(x) }

type walker func(node Expr) bool

func (w walker) stmts(body []Stmt) {
	for _, s := range body {
		if w(s) {
			w.stmt(s)
		}
	}
}

func (w walker) stmt(s Stmt) {
	switch s := s.(type) {
	case *ExprStmt:
		w.exprs(s.X)
	case *Assign:
		w.exprs(s.Targets...)
		w.exprs(s.X)
	case *AnnAssign:
		w.exprs(s.Target, s.X)
	case *AugAssign:
		w.exprs(s.Target, s.X)
	case *If:
		w.exprs(s.Test)
		w.stmts(s.Then)
		w.stmts(s.Else)
	case *While:
		w.exprs(s.Test)
		w.stmts(s.Body)
		w.stmts(s.Else)
	case *For:
		w.exprs(s.Target, s.Iterable)
		w.stmts(s.Body)
		w.stmts(s.Else)
	case *Def:
		w.exprs(s.Decorators...)
		w.function(s.Function)
	case *Class:
		w.exprs(s.Bases...)
		w.stmts(s.Body)
	case *Return:
		w.exprs(s.X)
	case *Raise:
		w.exprs(s.X, s.Cause)
	case *Try:
		w.stmts(s.Body)
		for _, h := range s.Handlers {
			w.exprs(h.Type)
			w.stmts(h.Body)
		}
		w.stmts(s.Else)
		w.stmts(s.Finally)
	case *Assert:
		w.exprs(s.Test, s.Message)
	case *Delete:
		w.exprs(s.Targets...)
	}
}

func (w walker) function(f *Function) {
	for i := range f.Params {
		w.exprs(f.Params[i].Default)
	}
	w.stmts(f.Body)
}

func (w walker) exprs(list ...Expr) {
	for _, x := range list {
		if x != nil && w(x) {
			w.expr(x)
		}
	}
}

func (w walker) expr(x Expr) {
	switch x := x.(type) {
	case *JoinedStr:
		w.exprs(x.Parts...)
	case *FormattedValue:
		w.exprs(x.Value)
		if x.Spec != nil {
			w.exprs(x.Spec)
		}
	case *Sequence:
		w.exprs(x.Items...)
	case *Dict:
		w.exprs(x.Keys...)
		w.exprs(x.Values...)
	case *Comprehension:
		w.exprs(x.Key, x.Value)
		for _, c := range x.Clauses {
			w.exprs(c.Target, c.Iterable)
			w.exprs(c.Conditions...)
		}
	case *Unary:
		w.exprs(x.X)
	case *Binary:
		w.exprs(x.X, x.Y)
	case *BoolOp:
		w.exprs(x.X, x.Y)
	case *Compare:
		w.exprs(x.X)
		w.exprs(x.Rights...)
	case *IfExpr:
		w.exprs(x.Test, x.X, x.Y)
	case *Lambda:
		w.function(x.Function)
	case *Call:
		w.exprs(x.Func)
		for i := range x.Args {
			w.exprs(x.Args[i].X)
		}
	case *Attribute:
		w.exprs(x.X)
	case *Subscript:
		w.exprs(x.X, x.Index)
	case *Slice:
		w.exprs(x.Low, x.High, x.Step)
	case *Starred:
		w.exprs(x.X)
	case *NamedExpr:
		w.exprs(x.X)
	}
}
