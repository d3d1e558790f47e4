package interp

import (
	"context"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
)

// notGivenName is the default of a parameter that need not be given and has no other value.
const notGivenName = "NOT_GIVEN"

// notGiven is the value of NOT_GIVEN. It counts as false, and a function of the host does not get
// it as a named argument.
type notGivenType struct{ _ byte }

var notGiven any = &notGivenType{}

// Library is what a program knows besides the builtins when one of its functions is called. It is
// immutable and safe for concurrent use.
type Library struct {
	names   map[string]any
	classes map[string]*class
}

// Names says what a library has.
type Names struct {
	// Functions are those of the host. "a.f" is the function f of a module a.
	Functions []string
	// Decorators return the function that they are called with, and Factories such decorators.
	Decorators, Factories []string
	// Exceptions are raised by the host and by programs, which know them without their module.
	Exceptions []string
}

// NewLibrary returns a library, which has NOT_GIVEN besides.
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
		l.names[name] = &builtin{name: name, call: func(a *arguments) any { return a.one() }}
	}
	for _, name := range names.Factories {
		l.names[name] = &builtin{name: name, call: func(a *arguments) any {
			a.one()
			return &builtin{name: name, call: func(a *arguments) any { return a.one() }}
		}}
	}
	for _, name := range names.Exceptions {
		c := &class{name: name, base: exceptionClass("Exception")}
		l.classes[name] = c
		l.names[c.short()] = c
	}
	return l
}

// Has reports whether a name means something without being assigned.
func (l *Library) Has(name string) bool {
	_, given := l.names[name]
	_, builtin := builtins[name]
	return given || builtin
}

// Importable reports whether a program may import from a module.
func Importable(module string) bool { return module == jsonModule || isOriginalModule(module) }

// Call runs a program and calls a function that its top level defines, with arguments by name;
// those that were not given have their defaults. It is safe for concurrent use: calls share
// nothing.
func (l *Library) Call(ctx context.Context, program *syntax.Module, function *syntax.Def, args []python.Arg, host Host) (result python.Value, outcome Outcome) {
	m := &machine{ctx: ctx, host: host, names: builtins, types: types, library: l.names, catchable: l.classes}
	m.module = frame{vars: newVars(len(program.Scope.Names))}
	failure := recoverPanic(func() {
		m.block(&m.module, program.Body)
		named := make([]keyword, 0, len(args))
		for i := range args {
			if args[i].Given {
				named = append(named, keyword{args[i].Name, m.fromPython(args[i].Value)})
			}
		}
		result = m.toPython(m.call(m.module.vars[function.Name.Slot], nil, named), 0)
	})
	return result, Outcome{Output: string(m.out), Err: m.outcomeError(failure), Steps: m.steps}
}
