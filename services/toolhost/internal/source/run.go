package source

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.starlark.net/starlark"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// run is one execution of a program.
type run struct {
	tools  Tools
	thread *starlark.Thread
	out    []byte
	memory int
	// classes are the types that were named or asked for.
	classes map[string]*class
}

// spend counts steps of a builtin.
func (r *run) spend(steps int) error {
	if r.thread.Steps += uint64(steps); r.thread.Steps >= maxSteps {
		return timeout()
	}
	return nil
}

// alloc counts the memory of a text or container before it is made.
func (r *run) alloc(bytes int) error {
	if bytes > maxMemory-r.memory {
		return raisef("MemoryError", "more than %d bytes are needed", maxMemory)
	}
	r.memory += bytes
	return nil
}

// allocItems counts the items of a container: the room for them, and the steps of going over them.
func (r *run) allocItems(n int) error {
	if n > maxMemory/itemSize {
		return r.alloc(maxMemory + 1)
	}
	if err := r.alloc(n * itemSize); err != nil {
		return err
	}
	return r.spend(n / 4)
}

// itemSize is about what an item of a list or dict takes in memory.
const itemSize = 64

func timeout() error { return raise(timeoutError, timeoutText()) }

const timeoutError = "TimeoutError"

func timeoutText() string { return fmt.Sprintf("more than %d steps are needed", maxSteps) }

// exception turns what ended a run into what Python would have raised.
func (r *run) exception(err error) error {
	if err == nil {
		return nil
	}
	var exception *python.Exception
	if errors.As(err, &exception) {
		return exception
	}
	var evaluation *starlark.EvalError
	if !errors.As(err, &evaluation) {
		return err // of a tool
	}
	if cause := evaluation.Unwrap(); cause != nil {
		err = cause
	}
	text := err.Error()
	for _, words := range dialect() {
		if groups := words.starlark.FindStringSubmatchIndex(text); groups != nil {
			return raise(words.kind, string(words.starlark.ExpandString(nil, words.text, text, groups)))
		}
	}
	return raise("TypeError", text)
}

// phrase is an error of Starlark's interpreter and what Python says.
type phrase struct {
	starlark   *regexp.Regexp
	kind, text string
}

func dialect() []phrase {
	p := func(pattern, kind, text string) phrase { return phrase{regexp.MustCompile(pattern), kind, text} }
	return []phrase{
		p(`^Starlark computation cancelled: `, timeoutError, timeoutText()),
		p(`^internal error: predeclared variable (\S+) is uninitialized$`, "NameError", "name '$1' is not defined"),
		p(`^global variable (\S+) referenced before assignment$`, "NameError", "name '$1' is not defined"),
		p(`^local variable (\S+) referenced before assignment$`, "UnboundLocalError", "local variable '$1' referenced before assignment"),
		p(`^function (\S+) called recursively$`, "RecursionError", "function '$1' calls itself, which cannot be executed here"),
		p(`^too many values to unpack \(got \d+, want (\d+)\)$`, "ValueError", "too many values to unpack (expected $1)"),
		p(`^too few values to unpack \(got (\d+), want (\d+)\)$`, "ValueError", "not enough values to unpack (expected $2, got $1)"),
		p(`^got (\S+) in sequence assignment$`, "TypeError", "cannot unpack non-iterable $1 object"),
		p(`^invalid call of non-function \(string\)$`, "TypeError", "'str' object is not callable"),
		p(`^invalid call of non-function \((\S+)\)$`, "TypeError", "'$1' object is not callable"),
		p(`^(.*) during iteration$`, "RuntimeError", "$1 during iteration"),
		p(`^function (\S+) missing 1 argument \((.*)\)$`, "TypeError", "${1}() missing 1 required positional argument: '$2'"),
		p(`^function (\S+) missing (\d+) arguments \((.*)\)$`, "TypeError", "${1}() missing $2 required positional arguments: $3"),
		p(`^function (\S+) accepts (?:at most )?(\d+) (positional arguments?) \((\d+) given\)$`, "TypeError", "${1}() takes $2 $3 but $4 were given"),
		p(`^function (\S+) got an unexpected keyword argument "(.*)"$`, "TypeError", "${1}() got an unexpected keyword argument '$2'"),
		p(`^function (\S+) got multiple values for parameter "(.*)"$`, "TypeError", "${1}() got multiple values for argument '$2'"),
		p(`^function (\S+) (.*)$`, "TypeError", "${1}() $2"),
	}
}

// environment returns the builtins and tools that a program names.
func (r *run) environment(names []string) starlark.StringDict {
	builtins := make(starlark.StringDict, len(names))
	for _, name := range names {
		if value := r.builtin(name); value != nil {
			builtins[name] = value
			continue
		}
		if !strings.HasPrefix(name, "#") && r.tools.Callable(name) {
			builtins[name] = starlark.NewBuiltin(name, r.tool)
		}
	}
	return builtins
}

// tool calls a tool.
func (r *run) tool(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := r.spend(callSteps); err != nil {
		return nil, err
	}
	positional := make([]python.Value, len(args))
	for i, arg := range args {
		var err error
		if positional[i], err = r.toPython(arg, 0); err != nil {
			return nil, err
		}
	}
	keyword := &python.Dict{}
	for _, pair := range kwargs {
		name, _ := starlark.AsString(pair[0])
		if _, repeated := keyword.Get(name); repeated {
			return nil, raisef("TypeError", "%s() got multiple values for keyword argument '%s'", b.Name(), name)
		}
		value, err := r.toPython(pair[1], 0)
		if err != nil {
			return nil, err
		}
		keyword.Set(name, value)
	}
	result, err := r.tools.Call(b.Name(), positional, keyword)
	if err != nil {
		return nil, err
	}
	return r.fromPython(result)
}
