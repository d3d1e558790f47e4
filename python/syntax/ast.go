// Package syntax reads the part of Python 3.11 that programs of agents use: a lexer, a parser and
// the tree they build, in which every name knows its variable. Type hints and docstrings stay in
// the tree. Everything here is a pure function of the source.
package syntax

// Module is a parsed program. It is immutable and safe for concurrent use.
type Module struct {
	Body  []Stmt
	Scope *Scope
}

// Expression is a parsed expression. It is immutable. The first variables of its scope are those
// that an evaluation gives.
type Expression struct {
	X     Expr
	Scope *Scope
}

// Expr is an expression.
type Expr interface{ Offset() int }

// Stmt is a statement.
type Stmt interface{ Offset() int }

// Pos is the byte offset in the source at which a node begins.
type Pos int

// Offset returns the offset.
func (a Pos) Offset() int { return int(a) }

// Binding says where the variable of a name is.
type Binding uint8

// The places of variables.
const (
	// BindingBuiltin is no variable: the name of a builtin or of a tool.
	BindingBuiltin Binding = iota
	// BindingLocal is a variable of a function or comprehension: Slot of the scope that is Hops
	// scopes further out.
	BindingLocal
	// BindingGlobal is a variable of the module.
	BindingGlobal
)

// EllipsisType is the type of Ellipsis.
type EllipsisType struct{}

// Ellipsis is the value of "...".
var Ellipsis = EllipsisType{}

// Expressions.
type (
	// Name is a variable.
	Name struct {
		Pos
		ID      string
		Binding Binding
		Hops    int
		Slot    int
	}
	// Constant is a literal: nil (None), bool, int, *big.Int beyond 64 bits, float64, string or
	// Ellipsis.
	Constant struct {
		Pos
		Value any
	}
	// JoinedStr is an f-string: Constants of text and FormattedValue fields.
	JoinedStr struct {
		Pos
		Parts []Expr
	}
	// FormattedValue is a field of an f-string. Conversion is 's', 'r', 'a' or 0. Spec is nil or the
	// format specification.
	FormattedValue struct {
		Pos
		Value      Expr
		Conversion byte
		Spec       *JoinedStr
	}
	// Sequence is a display of a list, tuple or set, or a target list.
	Sequence struct {
		Pos
		Kind  Kind
		Items []Expr
	}
	// Dict is a display of a dict. A key that is nil unpacks its value.
	Dict struct {
		Pos
		Keys, Values []Expr
	}
	// Comprehension computes Value, for dicts Key too, for all that its clauses go over.
	Comprehension struct {
		Pos
		Kind       Kind
		Key, Value Expr
		Clauses    []Clause
		Scope      *Scope
	}
	// Unary is an operator of one operand: + - ~ not.
	Unary struct {
		Pos
		Op string
		X  Expr
	}
	// Binary is an arithmetic operator.
	Binary struct {
		Pos
		Op   string
		X, Y Expr
	}
	// BoolOp is X and Y, or X or Y.
	BoolOp struct {
		Pos
		Or   bool
		X, Y Expr
	}
	// Compare is a chain of comparisons: X Ops[0] Rights[0] Ops[1] Rights[1] …
	Compare struct {
		Pos
		X      Expr
		Ops    []string
		Rights []Expr
	}
	// IfExpr is "X if Test else Y".
	IfExpr struct {
		Pos
		Test, X, Y Expr
	}
	// Lambda is a function without a name.
	Lambda struct {
		Pos
		Function *Function
	}
	// Call is a call.
	Call struct {
		Pos
		Func Expr
		Args []Argument
	}
	// Attribute is X.Name.
	Attribute struct {
		Pos
		X    Expr
		Name string
	}
	// Subscript is X[Index].
	Subscript struct {
		Pos
		X, Index Expr
	}
	// Slice is Low:High:Step within a subscript; each may be nil.
	Slice struct {
		Pos
		Low, High, Step Expr
	}
	// Starred is *X.
	Starred struct {
		Pos
		X Expr
	}
	// NamedExpr is "Name := X".
	NamedExpr struct {
		Pos
		Name *Name
		X    Expr
	}
)

// Kind is what a display or comprehension makes.
type Kind uint8

// The kinds of displays and comprehensions.
const (
	KindTuple Kind = iota
	KindList
	KindSet
	KindDict
	KindGenerator
)

// Clause is "for Target in Iterable", and the conditions after it. The first clause's iterable
// belongs to the scope around.
type Clause struct {
	Target     Expr
	Iterable   Expr
	Conditions []Expr
}

// Argument is an argument of a call. Name is empty for a positional one; Stars is 1 for *X and 2
// for **X.
type Argument struct {
	Name  string
	Stars int
	X     Expr
}

// Function is what def and lambda have in common. A lambda's body is one Return.
type Function struct {
	Name   string
	Params []Param
	// Positional is the number of parameters before *args or the bare *, PositionalOnly of those
	// before "/".
	Positional, PositionalOnly int
	// Args and Kwargs are the slots of *args and **kwargs, -1 if there are none.
	Args, Kwargs int
	Body         []Stmt
	Doc          string
	Returns      Expr
	Scope        *Scope
	// Nesting is how deep the body nests.
	Nesting int
}

// Param is a parameter; its variable is the slot of its place in Params. Keyword-only ones come
// last.
type Param struct {
	Name    string
	Hint    Expr
	Default Expr
}

// Statements.
type (
	// ExprStmt is an expression statement.
	ExprStmt struct {
		Pos
		X Expr
	}
	// Assign assigns a value to each target in turn.
	Assign struct {
		Pos
		Targets []Expr
		X       Expr
	}
	// AnnAssign is "Target: Hint = X"; X may be nil.
	AnnAssign struct {
		Pos
		Target, Hint, X Expr
	}
	// AugAssign is "Target Op= X"; Op has no equals sign.
	AugAssign struct {
		Pos
		Target Expr
		Op     string
		X      Expr
	}
	// If is if, elif and else.
	If struct {
		Pos
		Test       Expr
		Then, Else []Stmt
	}
	// While is a while loop.
	While struct {
		Pos
		Test       Expr
		Body, Else []Stmt
	}
	// For is a for loop.
	For struct {
		Pos
		Target, Iterable Expr
		Body, Else       []Stmt
	}
	// Def defines a function. Its decorators are called with it, the last one first.
	Def struct {
		Pos
		Name       *Name
		Function   *Function
		Decorators []Expr
	}
	// Class defines a class whose body only assigns its attributes. Only ParseFile reads classes.
	Class struct {
		Pos
		Name  *Name
		Bases []Expr
		Body  []Stmt
		Doc   string
		Scope *Scope
	}
	// Return returns X, or None where X is nil.
	Return struct {
		Pos
		X Expr
	}
	// Branch is pass, break or continue.
	Branch struct {
		Pos
		Keyword string
	}
	// Import is "import Module as Name". Name is nil if nothing is bound.
	Import struct {
		Pos
		Module string
		Name   *Name
	}
	// ImportFrom is "from Module import Member as Name". Name is nil if nothing is bound.
	ImportFrom struct {
		Pos
		Module, Member string
		Name           *Name
	}
	// Raise raises X, or again what is being handled where X is nil.
	Raise struct {
		Pos
		X, Cause Expr
	}
	// Try handles exceptions.
	Try struct {
		Pos
		Body     []Stmt
		Handlers []Handler
		Else     []Stmt
		Finally  []Stmt
	}
	// Assert raises AssertionError unless Test holds.
	Assert struct {
		Pos
		Test, Message Expr
	}
	// Delete deletes variables and items.
	Delete struct {
		Pos
		Targets []Expr
	}
)

// Handler is "except Type as Name". Type and Name may be nil.
type Handler struct {
	Type Expr
	Name *Name
	Body []Stmt
}
