package interp

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// notGivenName is the default of an optional parameter that has no other default.
const notGivenName = "NOT_GIVEN"

// notGiven is the value of NOT_GIVEN. It is false in a condition. The host does not receive named
// arguments with this value.
type notGivenType struct{ _ byte }

var notGiven any = &notGivenType{}

// Library holds the names that the function of a program can use besides the builtins. It is
// immutable and safe for concurrent use.
type Library struct {
	names   map[string]any
	classes map[string]*class
}

// Names are the names of a Library.
type Names struct {
	// Functions are functions of the host. "a.f" is the function f of a module a.
	Functions []string
	// Decorators return their argument unchanged. With texts they return such a decorator.
	Decorators []string
	// Exceptions are classes that the host and programs raise. Programs use them without a module
	// name.
	Exceptions []string
}

// NewLibrary returns a library with the names and NOT_GIVEN.
func NewLibrary(names Names) *Library {
	l := &Library{names: map[string]any{notGivenName: notGiven}, classes: make(map[string]*class)}
	for _, name := range names.Functions {
		of, member, dotted := strings.Cut(name, ".")
		if !dotted {
			l.names[name] = &tool{name}
			continue
		}
		m, ok := l.names[of].(*module)
		if !ok {
			m = &module{name: of, members: make(map[string]any)}
			l.names[of] = m
		}
		m.members[member] = &tool{name}
	}
	for _, name := range names.Decorators {
		same := &builtin{name: name, call: func(a *arguments) any { return a.one() }}
		l.names[name] = &builtin{name: name, call: func(a *arguments) any {
			if len(a.positional) > 0 {
				if _, text := a.positional[0].(string); text {
					return same
				}
			}
			return a.one()
		}}
	}
	for _, name := range names.Exceptions {
		c := &class{name: name, base: exceptionClass("Exception")}
		l.classes[name] = c
		l.names[c.short()] = c
	}
	return l
}

// Has reports whether a name is a builtin or in the library.
func (l *Library) Has(name string) bool {
	_, ok := l.names[name]
	_, builtin := builtins[name]
	return ok || builtin
}

// Importable reports whether a file of functions may import from a module.
func Importable(module string) bool { return modules[module] != nil || isOriginalModule(module) }

// Members returns the sorted names in a module that a file may import, nil if it has any name.
func Members(module string) []string {
	if modules[module] == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(modules[module].members))
}

// Eval evaluates an expression whose variables have the values. It is safe for concurrent use.
func (l *Library) Eval(ctx context.Context, expression *syntax.Expression, values []python.Value, host Host) (result python.Value, outcome Outcome) {
	m := &machine{ctx: ctx, host: host, names: builtins, types: types, modules: modules, library: l.names, catchable: l.classes}
	m.module = frame{vars: newVars(len(expression.Scope.Names))}
	failure := recoverPanic(func() {
		for i, value := range values {
			m.module.vars[i] = m.fromPython(value)
		}
		result = m.toPython(m.eval(&m.module, expression.X), 0)
	})
	return result, Outcome{Output: string(m.out), Err: m.outcomeError(failure), Steps: m.steps}
}
