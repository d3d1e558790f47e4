// Package expression parses tool calls in Python source and evaluates their arguments. It calls no
// tool. It knows the given names and Python's builtins only. It bounds the work and the size of
// values.
package expression

import (
	"errors"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

var (
	// ErrNoCall means that the source does not begin with a call, has an argument that cannot be
	// evaluated, or is not Python.
	ErrNoCall = errors.New("no call of a tool")
	// ErrNoJSON means that an argument has a value that JSON cannot represent.
	ErrNoJSON = errors.New("an argument that JSON cannot write")
)

// Keys of unnamed arguments, as the original writes them.
const (
	positional = "None"
	unpacked   = "null"
)

// Call is one call.
type Call struct {
	// Tool is the tool's name. For an attribute it is the source, e.g. os.system.
	Tool string
	// Arguments is a dict. A nested call is its source text. Positional arguments are a list under the
	// key None.
	Arguments python.Value
}

// Parse parses source whose first statement is, assigns or returns a call. Later statements must be
// valid Python and are ignored. The source has no surrounding whitespace. names are the variables
// that arguments may use, with their texts. The error is ErrNoCall, or ErrNoJSON if everything else
// is valid.
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

// valueOf returns the expression that a statement evaluates, assigns or returns, nil if it is
// another statement.
func valueOf(statement syntax.Stmt) syntax.Expr {
	switch s := statement.(type) {
	case *syntax.ExprStmt:
		return s.X
	case *syntax.Assign:
		return s.X
	case *syntax.AnnAssign:
		return s.X
	case *syntax.AugAssign:
		return s.X
	case *syntax.Return:
		return s.X
	default:
		return nil
	}
}

// programsOf returns programs that evaluate the arguments from their sources. The original
// evaluates them the same way. A nested call evaluates to its source.
func programsOf(arguments []syntax.Argument) ([]*syntax.Module, error) {
	programs := make([]*syntax.Module, len(arguments))
	for i, argument := range arguments {
		source, ok := syntax.Unparse(argument.X)
		if !ok || argument.Stars == 1 {
			return nil, ErrNoCall
		}
		if _, isCall := argument.X.(*syntax.Call); isCall {
			programs[i] = &syntax.Module{Body: []syntax.Stmt{&syntax.ExprStmt{X: &syntax.Constant{Value: source}}}, Scope: &syntax.Scope{}}
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
func arguments(args []syntax.Argument, values []python.Value) python.Value {
	named := &python.Dict{}
	var list []python.Value
	for i, argument := range args {
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
