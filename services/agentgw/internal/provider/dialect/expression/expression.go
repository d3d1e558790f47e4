// Package expression reads Python source in which a model calls tools, and computes the arguments.
// It calls no tool, knows no names but those that it is given and Python's own, and bounds the work
// and what a value can grow to.
package expression

import (
	"errors"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/python/interp"
	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
)

var (
	// ErrNoCall says that the source does not begin with a call, holds an argument that is not
	// understood, or is not Python.
	ErrNoCall = errors.New("no call of a tool")
	// ErrNoJSON says that an argument has a value that JSON cannot write.
	ErrNoJSON = errors.New("an argument that JSON cannot write")
)

// Keys of arguments that the source does not name, as the original writes them.
const (
	positional = "None"
	unpacked   = "null"
)

// Call is one call.
type Call struct {
	// Tool is the tool's name; an attribute's is its source, e.g. os.system.
	Tool string
	// Arguments is a dict. A call among the arguments stands in it as its source. Positional
	// arguments are a list under None.
	Arguments python.Value
}

// Parse reads source whose first statement is a call, assigns one or returns one; what follows has
// to be Python and counts for nothing. The source has no blanks around it. Names are variables that
// arguments may use, which are texts. The error is ErrNoCall, or ErrNoJSON where everything else is
// fine.
func Parse(source string, names map[string]string) (Call, error) {
	program, err := syntax.ParseTree(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source))
	if err != nil || len(program.Body) == 0 {
		return Call{}, ErrNoCall
	}
	call, ok := valueOf(program.Body[0]).(*syntax.Call)
	if !ok {
		return Call{}, ErrNoCall
	}
	tool, ok := syntax.Unparse(&syntax.Call{Func: call.Func})
	if !ok {
		return Call{}, ErrNoCall
	}
	tool = strings.TrimSuffix(tool, "()")
	programs, err := programsOf(call.Args)
	if err != nil {
		return Call{}, ErrNoCall
	}
	values, err := interp.Eval(programs, names)
	switch {
	case errors.Is(err, interp.ErrNoJSON):
		return Call{Tool: tool}, ErrNoJSON
	case err != nil:
		return Call{}, ErrNoCall
	}
	return Call{Tool: tool, Arguments: arguments(call.Args, values)}, nil
}

// valueOf returns what a statement computes, assigns or returns, nil if it does none of them.
func valueOf(statement syntax.Stmt) syntax.Expr {
	switch s := statement.(type) {
	case *syntax.Do:
		return s.X
	case *syntax.Assign:
		return s.X
	case *syntax.Annotate:
		return s.X
	case *syntax.Augment:
		return s.X
	case *syntax.Return:
		return s.X
	default:
		return nil
	}
}

// programsOf returns what computes the arguments, from their sources: so the original evaluates
// them, and so Python checks them. A call among them has its source as value.
func programsOf(arguments []syntax.Argument) ([]*syntax.Module, error) {
	programs := make([]*syntax.Module, len(arguments))
	for i, argument := range arguments {
		source, ok := syntax.Unparse(argument.X)
		if !ok || argument.Stars == 1 {
			return nil, ErrNoCall
		}
		if _, isCall := argument.X.(*syntax.Call); isCall {
			programs[i] = &syntax.Module{Body: []syntax.Stmt{&syntax.Do{X: &syntax.Constant{Value: source}}}, Scope: &syntax.Scope{}}
			continue
		}
		program, err := syntax.Parse("(" + source + ")")
		if err != nil {
			return nil, err
		}
		programs[i] = program
	}
	return programs, nil
}

// arguments returns the dict of a call's arguments.
func arguments(of []syntax.Argument, values []python.Value) python.Value {
	named := &python.Dict{}
	var list []python.Value
	for i, argument := range of {
		switch {
		case argument.Name != "":
			named.Set(argument.Name, values[i])
		case argument.Stars == 2:
			named.Set(unpacked, values[i])
		default:
			list = append(list, values[i])
		}
	}
	if len(list) > 0 {
		named.Set(positional, python.List(list...))
	}
	return named.Value()
}
