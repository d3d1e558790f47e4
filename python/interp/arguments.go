package interp

import (
	"context"
	"errors"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// ErrNoJSON means that JSON cannot represent the value of an expression.
var ErrNoJSON = errors.New("a value that JSON cannot write")

// Eval evaluates programs of one expression each. All of them share limit.ArgumentSteps and
// limit.ArgumentMemory. A program can use the builtins, the module json and the strings in names,
// but no host function. The error is that of the first program that has no value, or ErrNoJSON if
// only conversions to JSON fail. Eval is safe for concurrent use.
func Eval(programs []*syntax.Module, names map[string]string) (values []python.Value, err error) {
	m := &machine{
		ctx: context.Background(), names: builtins, types: types, steps: limit.Steps - limit.ArgumentSteps, memory: limit.Memory - limit.ArgumentMemory,
		library: map[string]any{jsonModule: newJSON()},
	}
	for name, text := range names {
		m.library[name] = text
	}
	var unwritable error
	for _, program := range programs {
		value, err := m.argument(program)
		switch {
		case errors.Is(err, ErrNoJSON):
			unwritable = err
		case err != nil:
			return nil, err
		}
		values = append(values, value)
	}
	return values, unwritable
}

func (m *machine) argument(program *syntax.Module) (value python.Value, err error) {
	m.module = frame{vars: newVars(len(program.Scope.Names))}
	var v any
	failure := recoverPanic(func() {
		do, ok := program.Body[0].(*syntax.ExprStmt)
		if !ok || len(program.Body) != 1 {
			panic(exhausted("SyntaxError", "no expression"))
		}
		v = m.eval(&m.module, do.X)
	})
	if failure != nil {
		return python.Value{}, m.outcomeError(failure)
	}
	failure = recoverPanic(func() { value = m.toPython(v, 0) })
	if r, ok := failure.(*raised); ok && r.class == exceptionClass("TypeError") {
		return python.Value{}, ErrNoJSON
	}
	return value, m.outcomeError(failure)
}
