// Package source runs Python source that is more than a single tool call, in a bounded dialect: it is translated to Starlark,
// whose interpreter has no file, network or host access, with Python's operators, texts and error messages in place of
// Starlark's. A run depends on the source and on what the tools answer, never on the clock or on chance.
package source

import (
	"fmt"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// What a program may be and use. A run that exceeds a limit raises TimeoutError or MemoryError.
const (
	// maxSource is the longest source in bytes.
	maxSource = 1 << 15
	// maxNesting is how deep expressions and statements may nest.
	maxNesting = 500
	// maxBrackets is how deep brackets may nest, Python's own limit, and powers; and how many names one statement may assign.
	maxBrackets = 200
	// maxIndents is how deep blocks may nest: Python's own limit.
	maxIndents = 99
	// maxLocals is how many variables a function may have: each call reserves room for them.
	maxLocals = 200

	// maxSteps is how many steps of the interpreter a run may take. What a builtin does counts too, by the items it looks at.
	maxSteps = 200_000
	// callSteps is what a call of a tool counts.
	callSteps = 1000
	// maxMemory is how many bytes of texts and containers a run may make in all, whether it keeps them or not.
	maxMemory = 8 << 20
	// maxOutput is how many bytes a run may print.
	maxOutput = 1 << 18
	// maxBits is the size of the largest int: about the 4300 digits that Python converts to text.
	maxBits = 14_280
	// maxDepth is how deep lists and dicts may nest where they are printed, compared or converted.
	maxDepth = 200

	// maxTime ends a run that the steps should have ended long before; no run is known that reaches it.
	maxTime = 20 * time.Second
)

// Tools is what a program can call.
type Tools interface {
	// Callable says whether there is a tool of that name.
	Callable(name string) bool
	// Call calls it. An error ends the program.
	Call(name string, positional []python.Value, keyword *python.Dict) (python.Value, error)
}

// Program is source that was translated. It is immutable and safe for concurrent use.
type Program struct {
	compiled *starlark.Program
	// names are those that the program takes from outside of itself.
	names []string
}

// Outcome is what a run did.
type Outcome struct {
	// Output is what was printed.
	Output string
	// Err is nil or the exception that ended the run; its text is the last line of Python's traceback.
	Err error
	// Steps says how much work it was, up to about 200,000.
	Steps uint64
}

// Compile translates source. The error is a *SyntaxError.
func Compile(text string) (program *Program, err error) {
	defer func() {
		if failure := recover(); failure != nil { // a defect in the compiler must not end the other sessions
			program, err = nil, &SyntaxError{fmt.Sprintf("SystemError: the source cannot be compiled: %v", failure)}
		}
	}()
	if len(text) > maxSource {
		return nil, &SyntaxError{fmt.Sprintf("MemoryError: the source has %d bytes, at most %d can be executed", len(text), maxSource)}
	}
	lines, err := lex(text)
	if err != nil {
		return nil, err
	}
	t := &translator{source: text}
	if err := t.lines(lines); err != nil {
		return nil, err
	}
	return t.compile()
}

// options is Starlark without recursion and sets.
func options() *syntax.FileOptions {
	return &syntax.FileOptions{While: true, TopLevelControl: true, GlobalReassign: true}
}

// compile parses the translation, gives it Python's operators and compiles it.
func (t *translator) compile() (*Program, error) {
	file, err := options().Parse("<input>", t.out.String(), 0)
	if err != nil {
		return nil, t.failure(err)
	}
	r := &rewriter{translator: t}
	if file.Stmts, err = r.body(file.Stmts); err != nil {
		return nil, err
	}
	used := make(map[string]bool)
	program := &Program{}
	outside := func(name string) bool {
		if !used[name] {
			used[name] = true
			program.names = append(program.names, name)
		}
		return true
	}
	if program.compiled, err = starlark.FileProgram(file, outside); err != nil {
		return nil, t.failure(err)
	}
	if err := r.withinLocals(); err != nil {
		return nil, err
	}
	return program, nil
}

// Run executes the program once.
func (p *Program) Run(tools Tools) (outcome Outcome) {
	r := &run{tools: tools, thread: &starlark.Thread{Name: "source"}}
	r.thread.SetMaxExecutionSteps(maxSteps)
	backstop := time.AfterFunc(maxTime, func() { r.thread.Cancel("too much time") })
	defer backstop.Stop()
	defer func() {
		if failure := recover(); failure != nil { // nor must one in the interpreter
			outcome = Outcome{Output: string(r.out), Err: raise("SystemError", fmt.Sprint(failure)), Steps: maxSteps}
		}
	}()
	_, err := p.compiled.Init(r.thread, r.environment(p.names))
	return Outcome{Output: string(r.out), Err: r.exception(err), Steps: r.thread.Steps}
}

func raise(kind, text string) error { return &python.Exception{Type: kind, Text: text} }

func raisef(kind, format string, args ...any) error { return raise(kind, fmt.Sprintf(format, args...)) }
