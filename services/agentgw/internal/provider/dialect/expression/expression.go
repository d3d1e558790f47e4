// Package expression reads Python source in which a model calls tools, and computes the arguments: literals, operators on them, comprehensions,
// nothing else. It runs no code, knows no names but those that it is given and Python's own, and bounds what a value can grow to.
package expression

import (
	"errors"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

var (
	// ErrNoCall says that the source does not begin with a call, holds an argument that is not understood, or is not Python.
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
	// Arguments is a dict. A call among the arguments stands in it as its source. Positional arguments are a list under None.
	Arguments python.Value
}

// Parse reads source whose first statement is a call, assigns one or returns one; what follows has to be Python and counts for nothing. The
// source has no blanks around it. Names are variables that arguments may use, which are texts. The error is ErrNoCall, or ErrNoJSON where
// everything else is fine.
func Parse(source string, names map[string]string) (Call, error) {
	tokens, ok := scan(source)
	if !ok {
		return Call{}, ErrNoCall
	}
	p := parser{tokens: tokens}
	first := p.module()
	if first == nil || p.failed {
		return Call{}, ErrNoCall
	}
	e := evaluator{names: names}
	arguments := &python.Dict{}
	var list []python.Value
	writable := true
	for _, argument := range first.items[1:] {
		value, ok := e.argument(argument.value)
		writable = writable && ok
		switch argument.form {
		case formNamed:
			arguments.Set(argument.name, value)
		case formUnpacked:
			arguments.Set(unpacked, value)
		default:
			list = append(list, value)
		}
	}
	tool, ok := first.child(0).source(bindAtom)
	switch {
	case e.failed || !ok:
		return Call{}, ErrNoCall
	case !writable:
		return Call{Tool: tool}, ErrNoJSON
	}
	if len(list) > 0 {
		arguments.Set(positional, python.List(list...))
	}
	return Call{Tool: tool, Arguments: arguments.Value()}, nil
}

// argument computes an argument, or writes the source of one that is a call. ok is false for what JSON cannot write.
func (e *evaluator) argument(n *node) (v python.Value, ok bool) {
	if n.kind == nodeCall {
		source, ok := n.source(bindTest)
		e.failed = e.failed || !ok
		return python.Str(source), true
	}
	e.failed = e.failed || !n.compiles(false) || n.rebinds(nil, false)
	return e.value(n).json()
}
