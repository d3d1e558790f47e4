// Package expression compiles and evaluates the Python expressions of scenarios. A Time is one
// relative to a scenario's now. Package measure uses expressions as extractors. docs/scenarios.md
// documents both.
//
// The compiler checks syntax and names. An evaluation has the steps and the memory of one call of
// a pack's function. A time limit would make scores depend on the machine. The package reads no
// clock, no file except the time zone database, and no mutable state. It is safe for concurrent
// use.
package expression

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// maxLength is the maximum length of an expression in bytes.
const maxLength = 2000

// Error is a mistake in an expression.
type Error struct {
	// Line and Column are the position in the expression, from 1, in characters. Both are 0 for a
	// mistake in the expression as a whole.
	Line, Column int
	// Problem states the mistake and the expected value.
	Problem string
}

// Error returns position and problem.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.Problem
	case e.Line == 1:
		return fmt.Sprintf("column %d of the expression: %s", e.Column, e.Problem)
	default:
		return fmt.Sprintf("line %d, column %d of the expression: %s", e.Line, e.Column, e.Problem)
	}
}

// Expression is a compiled expression. It is immutable.
type Expression struct {
	text    string
	parsed  *syntax.Expression
	library *interp.Library
}

// Compile compiles an expression of variables and of a host's functions. The error is an *Error.
func Compile(text string, functions []string, variables ...string) (*Expression, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, &Error{Problem: "the expression is empty"}
	case len(text) > maxLength:
		return nil, &Error{Problem: fmt.Sprintf("the expression has %d bytes, at most %d are allowed", len(text), maxLength)}
	}
	x := &Expression{text: text, library: interp.NewLibrary(interp.Names{Functions: functions})}
	var err error
	x.parsed, err = syntax.ParseExpression(text, variables...)
	var syntaxError *syntax.Error
	if errors.As(err, &syntaxError) {
		return nil, x.errorAt(syntaxError.Offset, "Python cannot read this: %s", syntaxError.Reason)
	}
	if name, at := x.unknownName(); name != "" {
		return nil, x.errorAt(at, "name %q is not defined; the expression knows %s, and what Python has built in",
			name, strings.Join(append(variables, functions...), ", "))
	}
	return x, nil
}

// unknownName returns the first undefined name and its offset.
func (x *Expression) unknownName() (name string, at int) {
	source.Walk([]syntax.Stmt{&syntax.ExprStmt{X: x.parsed.X}}, func(node syntax.Expr, field int) bool {
		if n, ok := node.(*syntax.Name); ok && name == "" && n.Binding == syntax.BindingBuiltin && !x.library.Has(n.ID) {
			if name, at = n.ID, n.Offset(); field >= 0 {
				at = field
			}
		}
		return true
	})
	return name, at
}

// Tree returns the parsed expression.
func (x *Expression) Tree() syntax.Expr { return x.parsed.X }

// ErrorAt returns a mistake at a node of the expression.
func (x *Expression) ErrorAt(node syntax.Expr, format string, arguments ...any) *Error {
	return x.errorAt(node.Offset(), format, arguments...)
}

func (x *Expression) errorAt(offset int, format string, arguments ...any) *Error {
	line, column := source.LineColumn(x.text, offset)
	return &Error{Line: line, Column: column, Problem: fmt.Sprintf(format, arguments...)}
}

// Eval evaluates the expression for values of its variables. It also returns the number of steps.
// The error is a *python.Exception, or one of the host.
func (x *Expression) Eval(host interp.Host, values ...python.Value) (result python.Value, steps int, err error) {
	result, outcome := x.library.Eval(context.Background(), x.parsed, values, host)
	return result, outcome.Steps, outcome.Err
}
