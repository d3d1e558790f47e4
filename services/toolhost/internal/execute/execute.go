// Package execute is the execution environment: it runs the calls that one speaker sent and says what each of them
// answers. It does no input or output.
package execute

import (
	"errors"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

// ErrTooManyOrders says that a batch depends on the order of its calls in more ways than can be tried.
var ErrTooManyOrders = errors.New("too many orders of parallel calls to try")

// Answer is what one call answers.
type Answer struct {
	// Call is the position of the call in the batch.
	Call int
	// Tool is the real name of the tool, empty where the source names none.
	Tool string
	// Content is what was printed, or the exception.
	Content string
	// Exception is the last line of the traceback, empty if nothing was raised.
	Exception string
	// Trace is the tool trace, empty if there is none.
	Trace string
}

// Environment executes calls with a set of tools. It is immutable and safe for concurrent use.
type Environment struct {
	catalogue *tool.Catalogue
	allowed   map[string]bool
}

// New returns an environment in which the agent may call the allowed tools, and the user its own.
func New(catalogue *tool.Catalogue, allowed []string) *Environment {
	e := &Environment{catalogue: catalogue, allowed: make(map[string]bool, len(allowed))}
	for _, name := range allowed {
		e.allowed[name] = true
	}
	return e
}

// find returns the tool of that name if it may be called.
func (e *Environment) find(name string, byUser bool) *tool.Tool {
	t := e.catalogue.Find(name)
	if t == nil || e.allowed[name] || (byUser && t.User) {
		return t
	}
	return nil
}

// Run executes the sources of one batch on a copy of the world and returns the answers, in the order in which the calls took
// effect, and the world after them.
//
// For several calls the outcome is that of the first order, in lexicographic order of positions, in which any call raises,
// or that of the given order if none does.
func (e *Environment) Run(world session.World, sources []string, byUser bool) ([]Answer, session.World, error) {
	calls := make([]call, len(sources))
	for i, source := range sources {
		calls[i] = e.recognise(source, byUser)
	}
	if len(calls) == 1 {
		answer := calls[0].run(&world)
		return []Answer{answer}, world, nil
	}
	s := search{calls: calls, base: world, clean: make(map[string]bool)}
	return s.run()
}

// call is one recognised call, or the exception that its source raises at once.
type call struct {
	tool   *tool.Tool
	args   tool.Args
	print  python.Print
	raises error
	sub    []python.Value
}

// recognise turns source into a call: the standard snippet, or a single call as a person writes it.
func (e *Environment) recognise(source string, byUser bool) call {
	if _, name, args, ok := python.ParseCall(source); ok {
		if text, found := python.NonFinite(args); found {
			return call{raises: undefined(text)}
		}
		t := e.find(name, byUser)
		if t == nil {
			return call{raises: undefined(name)}
		}
		bound, err := t.BindMapping(args)
		return call{tool: t, args: bound, print: python.PrintRepr, raises: err}
	}
	if expression, ok := python.ParseExpressionCall(source); ok {
		return e.expression(expression, byUser)
	}
	return call{raises: refuse(source)}
}

func (e *Environment) expression(x python.Expression, byUser bool) call {
	for _, value := range slices.Concat(x.Positional, []python.Value{x.Keyword.Value()}) {
		if text, found := python.NonFinite(value); found {
			return call{raises: undefined(text)}
		}
	}
	t := e.find(x.Tool, byUser)
	if t == nil {
		return call{raises: undefined(x.Tool)}
	}
	bound, err := t.Bind(x.Positional, x.Keyword)
	return call{tool: t, args: bound, print: x.Print, raises: err, sub: x.Subscripts}
}

func undefined(name string) error {
	return &python.Exception{Type: "NameError", Text: "name '" + name + "' is not defined"}
}

// refuse says why source that is no single call does not run.
func refuse(source string) error {
	first, _, _ := strings.Cut(source, "\n")
	if _, value, ok := strings.Cut(first, "_parameters = "); ok && isName(value) {
		return undefined(value)
	}
	return &python.Exception{Type: "SyntaxError", Text: "only a single tool call with literal arguments can be executed"}
}

func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// run executes the call on a world.
func (c *call) run(w *session.World) Answer {
	answer := Answer{}
	if c.tool != nil {
		answer.Tool = c.tool.Name
	}
	if c.raises != nil {
		return answer.raised(c.raises)
	}
	result, err := c.tool.Call(w, c.args)
	if err != nil {
		return answer.raised(err)
	}
	answer.Trace = trace(c.tool.Name, c.args, result)
	for _, subscript := range c.sub {
		if result, err = python.Index(result, subscript); err != nil {
			answer.Trace = ""
			return answer.raised(err)
		}
	}
	switch c.print {
	case python.PrintRepr:
		answer.Content = python.Repr(result)
	case python.PrintText:
		answer.Content = python.Text(result)
	case python.PrintNone:
	}
	return answer
}

// raised makes an answer of an exception: only the last line of its text survives.
func (a Answer) raised(err error) Answer {
	text := err.Error()
	if i := strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n'); i >= 0 {
		text = text[i+1:]
	}
	a.Content, a.Exception = text, text
	return a
}

// trace returns the JSON text of a successful call.
func trace(name string, args tool.Args, result python.Value) string {
	return python.JSON(python.DictOf(
		python.Item{Key: "tool_name", Value: python.Str(name)},
		python.Item{Key: "arguments", Value: args.Trace()},
		python.Item{Key: "result", Value: result},
	))
}
