// Package interp runs the programs that package syntax parses. It is a tree-walking interpreter
// without access to files, network, clock or randomness. Package limit bounds its resources: the
// interpreter charges memory before it allocates it. A run depends only on the program and on the
// host's answers.
//
// Within the package exceptions are panics. A try statement can catch a panic with a *raised. A
// panic with another error ends the run. Run and Eval recover both.
package interp

import (
	"context"
	"fmt"
	"math/big"
	"runtime"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// Host provides the functions that a program can call besides the builtins.
type Host interface {
	// Callable reports whether the host has a function of that name.
	Callable(name string) bool
	// Call calls a function. The program can catch a *python.Exception; any other error ends the run.
	Call(name string, positional []python.Value, keyword *python.Dict) (python.Value, error)
}

// Outcome is the result of a run.
type Outcome struct {
	// Output is the text that the program printed.
	Output string
	// Err is nil or the error that ended the run: a *python.Exception with the last line of Python's
	// traceback, an error of the host, or the context's cause.
	Err error
	// Statement is the statement of the file that raised Err in a method of Program, nil if none did.
	Statement syntax.Stmt
	// Steps is the number of steps of the run, at most about limit.Steps.
	Steps int
}

// Run executes a program. Runs share no state, so Run is safe for concurrent use.
func Run(ctx context.Context, program *syntax.Module, host Host) Outcome {
	m := &machine{ctx: ctx, host: host, names: builtins, types: types}
	m.module = frame{vars: newVars(len(program.Scope.Names))}
	failure := recoverPanic(func() { m.block(&m.module, program.Body) })
	return Outcome{Output: string(m.out), Err: m.outcomeError(failure), Steps: m.steps}
}

// Compute returns x operator y of two numbers. The error is the *python.Exception that a program
// would end with.
func Compute(operator string, x, y python.Value) (result python.Value, err error) {
	m := &machine{}
	failure := recoverPanic(func() {
		result = python.ValueOf(m.arithmetic(operator, operator, x.Interface(), y.Interface()))
	})
	return result, m.outcomeError(failure)
}

// machine is the state of one run.
type machine struct {
	ctx        context.Context
	host       Host           // nil in Eval
	names      map[string]any // the builtins
	types      map[string]*class
	library    map[string]any     // predefined names besides the builtins
	modules    map[string]*module // nil if json is the only one
	module     frame
	steps      int
	memory     int
	calls      int         // depth of calls
	stack      int         // depth of nested statements and expressions
	statement  syntax.Stmt // that runs
	out        []byte
	handled    []*exception // innermost last
	identities map[any]int
	classes    map[string]*class   // exceptions that only the host raises
	patterns   map[string]*pattern // compiled so far
	catchable  map[string]*class   // other exceptions that the program can name
}

// frame holds the variables of a call, a comprehension or the module.
type frame struct {
	vars   []any
	parent *frame
	result any // value of the return statement
	few    [6]any
}

// newFrame returns a frame with n variables that have no value. Few of them lie in the frame.
func newFrame(n int, parent *frame) *frame {
	f := &frame{parent: parent}
	if n > len(f.few) {
		f.vars = newVars(n)
		return f
	}
	f.vars = f.few[:n:n]
	clearVars(f.vars)
	return f
}

func newVars(n int) []any {
	vars := make([]any, n)
	clearVars(vars)
	return vars
}

func clearVars(vars []any) {
	for i := range vars {
		vars[i] = absent
	}
}

// raised is the panic value of an exception.
type raised struct{ *exception }

// Error returns the name of the exception's class.
func (r *raised) Error() string { return r.class.name }

// raise returns an exception whose argument is a text.
func raise(kind, format string, args ...any) error {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	return &raised{&exception{class: exceptionClass(kind), args: []any{text}}}
}

// raiseValue returns an exception with any arguments.
func raiseValue(kind string, args ...any) error {
	return &raised{&exception{class: exceptionClass(kind), args: args}}
}

func tooDeep() error { return raise("RecursionError", "maximum recursion depth exceeded") }

// exhausted returns the error that ends a run because of a limit. Programs cannot catch it.
func exhausted(kind, format string, args ...any) error {
	return &python.Exception{Type: kind, Text: fmt.Sprintf(format, args...)}
}

// outcomeError converts the panic that ended a run to Outcome.Err.
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
	case runtime.Error, big.ErrNaN: // a defect of the interpreter must not stop the process
		return &python.Exception{Type: "SystemError", Text: fmt.Sprint(failure)}
	case error: // of the host
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

// chargeSteps counts the steps of a builtin.
func (m *machine) chargeSteps(steps int) {
	if steps >= limit.Steps-m.steps {
		m.steps = limit.Steps
		panic(exhausted("TimeoutError", "more than %d steps are needed", limit.Steps))
	}
	m.steps += steps
}

// alloc counts the memory of a text or container before its allocation.
func (m *machine) alloc(bytes int) {
	if bytes > limit.Memory-m.memory {
		panic(exhausted("MemoryError", "more than %d bytes are needed", limit.Memory))
	}
	m.memory += bytes
}

// allocItems counts the memory of a container's items and the steps to visit them.
func (m *machine) allocItems(n int) {
	if n > limit.Memory/limit.ItemSize {
		m.alloc(limit.Memory + 1)
		return
	}
	m.alloc(n * limit.ItemSize)
	m.chargeSteps(n / 4)
}

// allocTimes counts n allocations of equal size.
func (m *machine) allocTimes(n, bytes int) {
	if n > 0 && bytes > 0 && n > limit.Memory/bytes {
		m.alloc(limit.Memory + 1)
		return
	}
	m.alloc(max(0, n) * bytes)
}

// write appends to the output.
func (m *machine) write(text string) {
	if len(text) > limit.OutputBytes-len(m.out) {
		panic(exhausted("MemoryError", "more than %d bytes were printed", limit.OutputBytes))
	}
	m.out = append(m.out, text...)
	m.chargeSteps(len(text) / 64)
}
