package syntax

import (
	"math/big"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// overflow is how infinity is written: as a number that is too large.
const overflow = "1e309"

// Unparse writes an expression as Python 3.11's ast.unparse does. ok is false where that fails: a
// field of an f-string cannot hold a backslash.
func Unparse(x Expr) (text string, ok bool) {
	w := writer{}
	w.expr(x, bindTest)
	return w.String(), !w.failed
}

// bind is the precedence of an operator.
type bind uint8

const (
	bindNamed bind = iota + 1
	bindTuple
	bindTest
	bindOr
	bindAnd
	bindNot
	bindCompare
	bindBitOr
	bindBitXor
	bindBitAnd
	bindShift
	bindSum
	bindProduct
	bindUnary
	bindPower
	bindAtom
)

// precedence returns the precedence of an expression.
func precedence(x Expr) bind {
	switch x := x.(type) {
	case *NamedExpr:
		return bindNamed
	case *Sequence:
		if x.Kind == KindTuple && len(x.Items) > 0 {
			return bindTuple
		}
	case *IfExpr, *Lambda:
		return bindTest
	case *BoolOp:
		if x.Or {
			return bindOr
		}
		return bindAnd
	case *Unary:
		if x.Op == "not" {
			return bindNot
		}
		return bindUnary
	case *Compare:
		return bindCompare
	case *Binary:
		switch x.Op {
		case "|":
			return bindBitOr
		case "^":
			return bindBitXor
		case "&":
			return bindBitAnd
		case "<<", ">>":
			return bindShift
		case "+", "-":
			return bindSum
		case "**":
			return bindPower
		default:
			return bindProduct
		}
	}
	return bindAtom
}

// writer writes expressions.
type writer struct {
	strings.Builder
	// inside says that the expression is in a field of an f-string.
	inside bool
	failed bool
}

// write writes texts and expressions; an expression is in parentheses where it has to be.
func (w *writer) write(parts ...any) {
	for _, part := range parts {
		if text, ok := part.(string); ok {
			w.WriteString(text)
		} else if x, ok := part.(Expr); ok {
			w.expr(x, bindTest)
		}
	}
}

// expr writes an expression, in parentheses where its precedence is below minimum.
func (w *writer) expr(x Expr, minimum bind) {
	binding := precedence(x)
	if binding < minimum {
		w.WriteString("(")
		defer w.WriteString(")")
	}
	switch x := x.(type) {
	case *Name:
		w.WriteString(x.ID)
	case *Constant:
		w.constant(x.Value)
	case *JoinedStr:
		w.joined(x)
	case *Sequence:
		brackets := [...]string{KindTuple: "  ", KindList: "[]", KindSet: "{}"}[x.Kind]
		if x.Kind == KindTuple && len(x.Items) == 0 {
			brackets = "()"
		}
		w.write(strings.TrimSpace(brackets[:1]))
		w.items(x.Items, x.Kind == KindTuple)
		w.write(strings.TrimSpace(brackets[1:]))
	case *Dict:
		w.dict(x)
	case *Comprehension:
		w.comprehension(x)
	case *Lambda:
		w.lambda(x.Function)
	case *NamedExpr:
		w.write(x.Name.ID, " := ")
		w.expr(x.X, bindAtom)
	case *Starred:
		w.write("*")
		w.expr(x.X, bindBitOr)
	case *Attribute:
		w.expr(x.X, bindAtom)
		if c, ok := x.X.(*Constant); ok && isInteger(c.Value) {
			w.write(" ") // a dot behind it would be part of the number
		}
		w.write(".", x.Name)
	case *Subscript:
		w.subscript(x)
	case *Slice:
		w.slice(x)
	case *Call:
		w.call(x)
	default:
		w.operator(x, binding)
	}
}

// operator writes an operator and its operands.
func (w *writer) operator(x Expr, operatorPrecedence bind) {
	switch x := x.(type) {
	case *Unary:
		if w.write(x.Op); operatorPrecedence == bindNot {
			w.write(" ")
		}
		w.expr(x.X, operatorPrecedence)
	case *Binary:
		left, right := operatorPrecedence, operatorPrecedence+1
		if operatorPrecedence == bindPower {
			left, right = right, left
		}
		w.expr(x.X, left)
		w.write(" ", x.Op, " ")
		w.expr(x.Y, right)
	case *BoolOp:
		w.logical(x, operatorPrecedence)
	case *Compare:
		w.expr(x.X, operatorPrecedence+1)
		for i, op := range x.Ops {
			w.write(" ", op, " ")
			w.expr(x.Rights[i], operatorPrecedence+1)
		}
	case *IfExpr:
		w.expr(x.X, bindTest+1)
		w.write(" if ")
		w.expr(x.Test, bindTest+1)
		w.write(" else ", x.Y)
	default:
		w.failed = true
	}
}

// logical writes a chain of one operator. Python raises the precedence with each operand.
func (w *writer) logical(x *BoolOp, operatorPrecedence bind) {
	operands := []Expr{x.Y}
	for left, chained := x.X.(*BoolOp); ; left, chained = x.X.(*BoolOp) {
		if !chained || left.Or != x.Or {
			operands = append(operands, x.X)
			break
		}
		x = left
		operands = append(operands, x.Y)
	}
	slices.Reverse(operands)
	word := " and "
	if x.Or {
		word = " or "
	}
	for i, operand := range operands {
		if i > 0 {
			w.write(word)
		}
		w.expr(operand, min(operatorPrecedence+bind(min(i, int(bindAtom)))+1, bindAtom))
	}
}

// isInteger reports whether a constant prints as an integer or a bool.
func isInteger(value any) bool {
	switch value.(type) {
	case int, *big.Int, bool:
		return true
	default:
		return false
	}
}

func (w *writer) constant(value any) {
	switch v := value.(type) {
	case nil:
		w.write("None")
	case bool:
		w.write(python.Repr(python.Bool(v)))
	case int:
		w.write(python.Repr(python.Int(int64(v))))
	case *big.Int:
		w.write(python.Repr(python.BigInt(v)))
	case float64:
		w.write(strings.ReplaceAll(python.Repr(python.Float(v)), "inf", overflow))
	case string:
		if w.inside {
			escaped, quotes := quoted(v, allQuotes, false)
			w.write(quotes[0], escaped, quotes[0])
			return
		}
		w.write(python.Repr(python.Str(v)))
	default:
		w.write("...")
	}
}

// items writes expressions between commas; a single one gets a comma where single says so.
func (w *writer) items(items []Expr, single bool) {
	for i, item := range items {
		if i > 0 {
			w.write(", ")
		}
		w.write(item)
	}
	if single && len(items) == 1 {
		w.write(",")
	}
}

func (w *writer) dict(x *Dict) {
	w.write("{")
	for i, value := range x.Values {
		if i > 0 {
			w.write(", ")
		}
		if x.Keys[i] == nil {
			w.write("**")
			w.expr(value, bindBitOr)
			continue
		}
		w.write(x.Keys[i], ": ", value)
	}
	w.write("}")
}

func (w *writer) comprehension(x *Comprehension) {
	brackets := map[Kind]string{KindList: "[]", KindSet: "{}", KindDict: "{}", KindGenerator: "()"}[x.Kind]
	w.write(brackets[:1])
	if x.Key != nil {
		w.write(x.Key, ": ")
	}
	w.write(x.Value)
	for _, clause := range x.Clauses {
		w.write(" for ")
		w.expr(clause.Target, bindTuple)
		w.write(" in ")
		w.expr(clause.Iterable, bindTest+1)
		for _, condition := range clause.Conditions {
			w.write(" if ")
			w.expr(condition, bindTest+1)
		}
	}
	w.write(brackets[1:])
}

func (w *writer) lambda(f *Function) {
	w.write("lambda")
	separator := " "
	next := func(parts ...any) {
		w.write(separator)
		w.write(parts...)
		separator = ", "
	}
	for i, param := range f.Params {
		if i == f.Positional && f.Args < 0 {
			next("*")
		} else if i == f.Positional {
			next("*", f.Scope.Names[f.Args])
		}
		if next(param.Name); param.Default != nil {
			w.write("=", param.Default)
		}
		if i+1 == f.PositionalOnly {
			next("/")
		}
	}
	if f.Args >= 0 && f.Positional == len(f.Params) {
		next("*", f.Scope.Names[f.Args])
	}
	if f.Kwargs >= 0 {
		next("**", f.Scope.Names[f.Kwargs])
	}
	if result, ok := f.Body[0].(*Return); ok {
		w.write(": ", result.X)
	}
}

func (w *writer) subscript(x *Subscript) {
	w.expr(x.X, bindAtom)
	w.write("[")
	if index, ok := x.Index.(*Sequence); ok && index.Kind == KindTuple && len(index.Items) > 0 {
		w.items(index.Items, true)
	} else {
		w.write(x.Index)
	}
	w.write("]")
}

func (w *writer) slice(x *Slice) {
	w.write(x.Low, ":", x.High)
	if x.Step != nil {
		w.write(":", x.Step)
	}
}

// call writes a call: the positional arguments first, as Python's tree has them.
func (w *writer) call(x *Call) {
	w.expr(x.Func, bindAtom)
	w.write("(")
	separator := ""
	for _, named := range []bool{false, true} {
		for _, a := range x.Args {
			if (a.Name != "" || a.Stars == 2) != named {
				continue
			}
			w.write(separator, strings.Repeat("*", a.Stars))
			separator = ", "
			switch {
			case a.Name != "":
				w.write(a.Name, "=", a.X)
			case a.Stars == 1:
				w.expr(a.X, bindBitOr)
			default:
				w.write(a.X)
			}
		}
	}
	w.write(")")
}
