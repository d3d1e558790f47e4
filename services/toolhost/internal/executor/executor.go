// Package executor is the execution environment: it executes the calls of one speaker and returns
// their answers. It does no input or output. Package interp runs code.
//
// # Parallel calls
//
// The outcome of a batch is that of the first order in which any call raises. The search for it is
// exact. Tools declare nothing for it: the world records what each run of a call reads, writes and
// draws.
//
// The given order is the first. If it fails, it is the outcome. Otherwise the search also runs
// every call as the first one. Two calls conflict if a write of one may change the answer to a
// query of the other. A query is the condition and the columns for which a call asked, whatever it
// found: a call that counted no rows asked for rows that might exist. Calls that conflict, directly
// or through others, are a group. The search explores all orders of a group, starting from states
// that runs of its calls produce.
//
// This is sufficient although effects are known only from runs. Take any order, and suppose that up
// to some call every call did what it did in an explored run. No call outside its group changed an
// answer to a query of the group, because no recorded write could. So the call finds the answers
// that it found after the same calls of its group in an explored state. A call is a function of its
// arguments and of the answers that it gets. It therefore makes the same next query, does the same,
// and raises if and only if it raised there. By induction every order consists of explored runs. If
// a run shows new effects, the groups are built again, until the runs show nothing that changes the
// groups. A run that raises was made in a state that an order reaches, so it needs no argument.
//
// A group need not distinguish all states. Two states are equal for it if its queries have the same
// answers. The answers include the columns by which calls select rows, so the answers after a call
// follow from those before it. A call does not see the rows that an update changes. They count as
// queried only if the group reads what was written.
//
// Ids are drawn from one counter, so calls that have nothing else in common conflict. The search
// therefore repeats a run that draws with every id that other calls may leave to it. If it raises
// with one of them, or leaves other answers to its group, ids matter: the counter then counts as
// read by each call that draws, and these calls are one group.
//
// The search builds the outcome call by call. The next call is the first one, in ascending order,
// that raises or after which some order of the others raises. A call of a read-only tool raises in
// no state, so the search does not run it. A call that changes nothing that its group queries can
// be made at any time, so the search distinguishes only orders of the others. One of several equal
// calls represents all. The search caches its results for each state.
package executor

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

// ErrTooManyOrders means that a batch has too many different orders to try.
var ErrTooManyOrders = errors.New("too many orders of parallel calls to try")

// Answer is the answer to one call.
type Answer struct {
	// Call is the position of the call in the batch.
	Call int
	// Tool is the real name of the tool, empty for code.
	Tool string
	// Content is the output or the exception.
	Content string
	// Exception is the last line of the traceback, empty without one.
	Exception string
	// Traces are the successful calls of tools, in order.
	Traces []*worldv1.ToolTrace
	// Failing reports that the call failed because Run was told so, before its tool ran.
	Failing bool
}

// Environment executes calls with the tools of a session. It is immutable and safe for concurrent
// use.
type Environment struct {
	catalogue *tool.Catalogue
	selection *tool.Selection
}

// New returns an environment in which each role may call the tools of the selection.
func New(catalogue *tool.Catalogue, selection *tool.Selection) *Environment {
	return &Environment{catalogue: catalogue, selection: selection}
}

// Run executes the calls and the code of one batch on a copy of the world. It returns the answers
// in the order in which the calls took effect, and the world after them. A call of a tool that the
// sender may not call raises NameError. The error is ErrTooManyOrders, or the context's cause.
//
// failing are the positions of calls that do not reach their tools. Each raises ConnectionError,
// unless it raises in any world.
//
// The outcome of several calls is that of the first order, in lexicographic order of positions, in
// which any call raises, otherwise that of the given order.
func (e *Environment) Run(ctx context.Context, world session.World, batch []*worldv1.Message, sender worldv1.Role, failing ...int32) ([]Answer, session.World, error) {
	calls := make([]call, len(batch))
	for i, m := range batch {
		calls[i] = e.resolve(m, sender)
		if calls[i].raises == nil && slices.Contains(failing, int32(i)) {
			calls[i] = call{tool: calls[i].tool, raises: connectionError(m.GetIndex()), failing: true}
		}
	}
	answers, world, err := firstFailing(ctx, calls, world)
	if err == nil {
		err = context.Cause(ctx) // a call without its answer has no outcome
	}
	if err != nil {
		return nil, session.World{}, err
	}
	return answers, world, nil
}

// call is a resolved call, a program, or the exception that resolving raised.
type call struct {
	program *codeRun
	tool    *tool.Tool
	args    tool.Args
	raises  error
	// failing reports that raises is a connectionError.
	failing bool
}

// connectionError returns the exception of a call that does not reach its tool. Services say it in
// different words; the index of the call's message decides which.
func connectionError(index int32) error {
	texts := [...]string{"Connection refused", "503 Service Unavailable", "429 Too Many Requests"}
	return &python.Exception{Type: "ConnectionError", Text: texts[uint32(index)%uint32(len(texts))]}
}

// resolve converts a message to a call.
func (e *Environment) resolve(m *worldv1.Message, sender worldv1.Role) call {
	if toolCall := m.GetCall(); toolCall != nil {
		return e.toolCall(toolCall, sender)
	}
	return e.compileCode(messagetext.Content(m), sender)
}

// toolCall resolves a ToolCall. Arguments that are a text with a JSON object are that object.
// Arguments that were cut off raise in any world.
func (e *Environment) toolCall(message *worldv1.ToolCall, sender worldv1.Role) call {
	if message.GetArgumentsCut() {
		return call{raises: &python.Exception{Type: "ValueError", Text: "the arguments were cut off, because the answer reached its limit of tokens; the call did not run"}}
	}
	args, err := messagetext.Arguments(message)
	if err != nil {
		args = python.Str("") // any text, because it is not a mapping
	}
	if text, ok := args.AsStr(); ok && messagetext.IsObject(text) {
		if args, err = syntax.ParseLiteral(strings.TrimSpace(text)); err != nil {
			return e.compileCode(messagetext.Source(message), sender)
		}
	}
	if number, found := python.NonFinite(args); found {
		return call{raises: undefined(number)}
	}
	t := e.find(message.GetTool(), sender)
	if t == nil {
		return call{raises: undefined(message.GetTool())}
	}
	bound, err := t.BindMapping(args)
	return withArgumentError(call{tool: t, args: bound, raises: err})
}

// compileCode compiles source.
func (e *Environment) compileCode(text string, sender worldv1.Role) call {
	compiled, err := syntax.Parse(text)
	if err != nil {
		return call{raises: err}
	}
	return call{program: &codeRun{source: text, compiled: compiled, environment: e, sender: sender}}
}

// programCall resolves a call from a program.
func (e *Environment) programCall(name string, positional []python.Value, keyword *python.Dict, sender worldv1.Role) call {
	t := e.find(name, sender)
	if t == nil {
		return call{raises: undefined(name)}
	}
	for _, value := range append(slices.Clip(positional), keyword.Value()) {
		if text, found := python.NonFinite(value); found {
			return call{raises: undefined(text)}
		}
	}
	bound, err := t.Bind(positional, keyword)
	return withArgumentError(call{tool: t, args: bound, raises: err})
}

// withArgumentError adds the exception that the arguments raise in any world.
func withArgumentError(c call) call {
	if c.raises == nil {
		c.raises = c.tool.CheckArgs(c.args)
	}
	return c
}

// find returns a tool by name if the role may call it.
func (e *Environment) find(name string, sender worldv1.Role) *tool.Tool {
	return e.selection.Tool(e.catalogue, name, sender)
}

func undefined(name string) error {
	return &python.Exception{Type: "NameError", Text: "name '" + name + "' is not defined"}
}

// evaluate executes the call on a world and returns the tool's result, None for a program.
func (c *call) evaluate(ctx context.Context, w *session.World) (python.Value, error) {
	if c.raises != nil {
		return python.Value{}, c.raises
	}
	if c.program != nil {
		_, err := c.program.run(ctx, w)
		return python.None(), err
	}
	return c.tool.Run(ctx, w, c.args)
}

// run executes the call on a world and returns its answer.
func (c *call) run(ctx context.Context, w *session.World) Answer {
	if c.program != nil {
		answer, _ := c.program.run(ctx, w)
		return answer
	}
	answer := Answer{Failing: c.failing}
	if c.tool != nil {
		answer.Tool = c.tool.Name
	}
	result, err := c.evaluate(ctx, w)
	if err != nil {
		return answer.withException(err)
	}
	answer.Traces = []*worldv1.ToolTrace{trace(c.tool.Name, c.args, result)}
	answer.Content = python.Repr(result)
	return answer
}

// withException adds an exception to an answer. Only the last line of its text remains, unless the
// source does not compile.
func (a Answer) withException(err error) Answer {
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if _, unparsed := errors.AsType[*syntax.Error](err); !unparsed {
		text = strings.TrimRight(text, "\n")
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	a.Content, a.Exception = text, text
	return a
}

// trace returns the trace of a successful call.
func trace(name string, args tool.Args, result python.Value) *worldv1.ToolTrace {
	return &worldv1.ToolTrace{Tool: name, ArgumentsJson: python.JSON(args.Trace()), ResultJson: python.JSON(result)}
}
