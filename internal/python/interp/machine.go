// Package interp runs the programs that package syntax parses. It is a tree walker without access
// to files, network, clock or randomness. Package limit bounds its resources; everything that grows
// is charged before it is allocated. A run depends only on the program and on the host's answers.
//
// Within the package exceptions are panics: with a *raised, which a try statement can catch, or
// with another error, which ends the run. Run and Eval recover them.
package interp

import (
	"context"
	"fmt"
	"runtime"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/python/limit"
	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
)

// Host provides the functions that a program can call besides the builtins.
type Host interface {
	// Callable reports whether there is a function of that name.
	Callable(name string) bool
	// Call calls it. A *python.Exception is raised in the program, which may catch it; any other
	// error ends the run.
	Call(name string, positional []python.Value, keyword *python.Dict) (python.Value, error)
}

// Outcome is the result of a run.
type Outcome struct {
	// Output is what was printed.
	Output string
	// Err is nil or the error that ended the run: a *python.Exception with the last line of Python's
	// traceback, an error of the host, or the cause of the context's end.
	Err error
	// Steps is the work of the run, up to about limit.Steps.
	Steps int
}

// Run executes a program once. It is safe for concurrent use: runs share nothing.
func Run(ctx context.Context, program *syntax.Module, host Host) Outcome {
	m := &machine{ctx: ctx, host: host, names: builtins, types: types}
	m.module = frame{vars: newVars(len(program.Scope.Names))}
	failure := recoverPanic(func() { m.block(&m.module, program.Body) })
	return Outcome{Output: string(m.out), Err: m.outcomeError(failure), Steps: m.steps}
}

// machine is the state of one run.
type machine struct {
	ctx        context.Context
	host       Host           // nil where only expressions are computed
	names      map[string]any // the builtins
	types      map[string]*class
	library    map[string]any // by name, besides the builtins
	module     frame
	steps      int
	memory     int
	calls      int // that are open
	stack      int // how deep they nest
	out        []byte
	handling   []*exception // innermost last
	identities map[any]int
	classes    map[string]*class // of exceptions that only the host raises
	catchable  map[string]*class // of those that a program can name
}

// frame is the variables of a call, a comprehension or the module.
type frame struct {
	vars   []any
	parent *frame
	code   *syntax.Function
	result any // of return
}

func newVars(n int) []any {
	vars := make([]any, n)
	for i := range vars {
		vars[i] = absent
	}
	return vars
}

// raised is an exception on its way. Handlers can catch it, unlike every other error.
type raised struct{ *exception }

// Error returns the last line of the traceback.
func (r *raised) Error() string { return r.class.name }

// raise returns an exception with a text.
func raise(kind, format string, args ...any) error {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	return &raised{&exception{class: exceptionClass(kind), args: []any{text}}}
}

// raiseValue returns an exception with a value.
func raiseValue(kind string, args ...any) error {
	return &raised{&exception{class: exceptionClass(kind), args: args}}
}

func tooDeep() error { return raise("RecursionError", "maximum recursion depth exceeded") }

// exhausted is the end of a run that exceeds a limit. No program can catch it.
func exhausted(kind, format string, args ...any) error {
	return &python.Exception{Type: kind, Text: fmt.Sprintf(format, args...)}
}

// outcomeError converts what ended a run into the caller's error.
func (m *machine) outcomeError(failure any) error {
	switch failure := failure.(type) {
	case nil:
		return nil
	case *raised:
		if failure.cause != nil {
			return failure.cause
		}
		text := "<exception str() failed>"
		recoverPanic(func() { text = m.exceptionText(failure.exception) })
		return &python.Exception{Type: failure.class.name, Text: text}
	case runtime.Error: // a defect in the interpreter must not end the other sessions
		return &python.Exception{Type: "SystemError", Text: failure.Error()}
	case error:
		return failure
	default:
		return &python.Exception{Type: "SystemError", Text: fmt.Sprint(failure)}
	}
}

// step counts one statement or expression.
func (m *machine) step() {
	if m.steps++; m.steps&1023 == 0 && m.ctx.Err() != nil {
		panic(context.Cause(m.ctx))
	}
	if m.steps >= limit.Steps {
		panic(exhausted("TimeoutError", "more than %d steps are needed", limit.Steps))
	}
}

// chargeSteps charges the work of a builtin.
func (m *machine) chargeSteps(steps int) {
	if steps >= limit.Steps-m.steps {
		m.steps = limit.Steps
		panic(exhausted("TimeoutError", "more than %d steps are needed", limit.Steps))
	}
	m.steps += steps
}

// alloc counts the memory of a text or container before it is made.
func (m *machine) alloc(bytes int) {
	if bytes > limit.Memory-m.memory {
		panic(exhausted("MemoryError", "more than %d bytes are needed", limit.Memory))
	}
	m.memory += bytes
}

// allocItems counts the items of a container: the room for them, and the steps of going over them.
func (m *machine) allocItems(n int) {
	if n > limit.Memory/limit.ItemSize {
		m.alloc(limit.Memory + 1)
		return
	}
	m.alloc(n * limit.ItemSize)
	m.chargeSteps(n / 4)
}

// allocTimes counts n pieces of so many bytes each.
func (m *machine) allocTimes(n, bytes int) {
	if n > 0 && bytes > 0 && n > limit.Memory/bytes {
		m.alloc(limit.Memory + 1)
		return
	}
	m.alloc(max(0, n) * bytes)
}

// write prints.
func (m *machine) write(text string) {
	if len(text) > limit.Output-len(m.out) {
		panic(exhausted("MemoryError", "more than %d bytes were printed", limit.Output))
	}
	m.out = append(m.out, text...)
	m.chargeSteps(len(text) / 64)
}
