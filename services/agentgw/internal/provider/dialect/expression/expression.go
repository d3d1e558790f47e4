// Package expression reads Python source in which a model calls tools, and computes the arguments: literals, operators on them,
// nothing else. It runs no code, knows no names but those that it is given, and bounds what a value can grow to.
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

// Parse reads source whose first statement is a call, assigns one or returns one; what follows has to look like Python and counts for
// nothing. Names are variables that arguments may use. The error is ErrNoCall, or ErrNoJSON where everything else is fine.
func Parse(source string, names map[string]python.Value) (Call, error) {
	tokens, ok := scan(source)
	if !ok {
		return Call{}, ErrNoCall
	}
	p := parser{tokens: tokens}
	first, ok := p.first()
	if !ok || first == nil || first.kind != nodeCall || !p.rest() {
		return Call{}, ErrNoCall
	}
	call := Call{Tool: first.tool()}
	e := evaluator{names: names}
	arguments := &python.Dict{}
	var list []python.Value
	for _, argument := range first.items[1:] {
		var value python.Value
		if argument.value.kind == nodeCall {
			value = python.Str(argument.value.source(0))
		} else if value, ok = e.value(argument.value); !ok {
			return Call{}, ErrNoCall
		}
		switch argument.form {
		case formPositional:
			list = append(list, value)
		case formNamed:
			arguments.Set(argument.name, value)
		case formUnpacked:
			arguments.Set(unpacked, value)
		}
	}
	if e.noJSON {
		return call, ErrNoJSON
	}
	if len(list) > 0 {
		arguments.Set(positional, python.List(list...))
	}
	call.Arguments = arguments.Value()
	return call, nil
}
