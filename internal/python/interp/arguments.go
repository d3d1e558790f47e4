package interp

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/python/limit"
	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
)

// ErrNoJSON says that an expression has a value that JSON cannot write.
var ErrNoJSON = errors.New("a value that JSON cannot write")

// Eval computes programs of one expression each, within limit.ArgumentSteps and
// limit.ArgumentMemory for all of them. They know the builtins, the module json and the texts in
// names, but no host. The error is ErrNoJSON if all have a value and JSON cannot write one of them,
// otherwise that of the first that has none. It is safe for concurrent use.
func Eval(programs []*syntax.Module, names map[string]string) (values []python.Value, err error) {
	m := &machine{
		ctx: context.Background(), steps: limit.Steps - limit.ArgumentSteps, memory: limit.Memory - limit.ArgumentMemory,
		given: map[string]any{jsonModule: newJSON()},
	}
	for name, text := range names {
		m.given[name] = text
	}
	defer func() {
		if failure := recover(); failure != nil { // a defect in the interpreter must not end the others
			values, err = nil, &python.Exception{Type: "SystemError", Text: fmt.Sprint(failure)}
		}
	}()
	var unwritable error
	for _, program := range programs {
		value, err := m.argument(program)
		var r *raised
		switch {
		case errors.As(err, &r) && r.class == exceptionClass("TypeError"):
			unwritable = ErrNoJSON
		case err != nil:
			return nil, m.final(err)
		}
		values = append(values, value)
	}
	return values, unwritable
}

func (m *machine) argument(program *syntax.Module) (python.Value, error) {
	m.module = frame{vars: blank(len(program.Scope.Names))}
	if len(program.Body) != 1 {
		return python.Value{}, exhausted("SyntaxError", "no expression")
	}
	do, ok := program.Body[0].(*syntax.Do)
	if !ok {
		return python.Value{}, exhausted("SyntaxError", "no expression")
	}
	v, err := m.eval(&m.module, do.X)
	if err != nil {
		return python.Value{}, m.final(err)
	}
	return m.toPython(v, 0)
}
