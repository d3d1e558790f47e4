// Package executor is the execution environment: it runs the calls that one speaker sent and says
// what each of them answers. It does no input or output. A call is run as it is; package interp
// runs code.
//
// # Parallel calls
//
// The outcome of a batch is that of the first of all orders in which any call raises. The search
// for it is exact. No tool declares anything for it: the world records what each run of a call
// reads, writes and draws.
//
// The given order is the first one, so that it is the outcome if it fails. Otherwise every call is
// also run as the first one. Two calls are in each other's way if a write of one may change the
// answer to a question of the other. A question is the condition and the columns that a call asked
// for, whatever it found: a call that counted no rows asked for those that might have been there.
// Calls that are in each other's way, directly or through others, are a group. All orders of a
// group are explored from states that are made by running its calls.
//
// Why is that enough, when effects are known only from runs that were made? Take any order, and
// suppose that up to some call every call did what it did in an explored run. No call outside of
// its group changed an answer to what the group asks, because no recorded write could. So the call
// finds the answers that it found after the same calls of its group in an explored state. A call is
// a function of its arguments and of the answers that it gets: it asks the same next question, does
// the same, and raises if and only if it did there. By induction every order consists of explored
// runs. A run that shows new effects counts only once the groups follow from it: they are built
// again until the runs that follow from them show nothing that changes them. A run that raises was
// made in a state that an order reaches, so that it needs no argument.
//
// A group need not tell all states apart. Two states are the same to it if its questions have the
// same answers. The answers hold the columns by which calls choose rows, too: those after a call
// then follow from those before it. What the world copies into a row for a call, and which
// rows an update changes, the call does not learn. They count as asked only if the group reads
// what was written.
//
// Ids are drawn from one counter, so that calls that have nothing else in common are in each
// other's way. A run of a call that draws is therefore repeated with every id that the others may
// leave to it. If it raises with one of them, or leaves other answers to its group, ids matter: the
// counter then counts as read by each call that draws, and these are one group.
//
// The outcome is built call by call. The next call is the first one, in ascending order, that
// raises or after which some order of the others raises. A call of a tool that only looks raises in
// no state and is not run. A call that changes nothing that its group asks for can be made at any
// moment, so that only the orders of the others are told apart. Of calls that are the same any one
// stands for all. What was found about a state is kept.
package executor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
	"github.com/toolsandbox/toolsandbox/internal/sandbox"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

// ErrTooManyOrders says that a batch depends on the order of its calls in more ways than can be
// tried.
var ErrTooManyOrders = errors.New("too many orders of parallel calls to try")

// Answer is what one call answers.
type Answer struct {
	// Call is the position of the call in the batch.
	Call int
	// Tool is the real name of the tool, empty for code.
	Tool string
	// Content is what was printed, or the exception.
	Content string
	// Exception is the last line of the traceback, empty if nothing was raised.
	Exception string
	// Traces are the calls of tools that succeeded, in order.
	Traces []*worldv1.ToolTrace
}

// Environment executes calls with the tools of a session. It is immutable and safe for concurrent
// use.
type Environment struct {
	catalogue *tool.Catalogue
	selection *tool.Selection
}

// New returns an environment in which each role may call what the selection lets it call.
func New(catalogue *tool.Catalogue, selection *tool.Selection) *Environment {
	return &Environment{catalogue: catalogue, selection: selection}
}

// Run executes the calls and the code of one batch on a copy of the world. It returns the answers,
// in the order in which the calls took effect, and the world after them. A call of a tool that the
// sender may not call raises NameError. The error is ErrTooManyOrders, or the cause of ctx's end.
//
// For several calls the outcome is that of the first order, in lexicographic order of positions, in
// which any call raises, or that of the given order if none does.
func (e *Environment) Run(ctx context.Context, world session.World, batch []*worldv1.Message, sender worldv1.Role) ([]Answer, session.World, error) {
	calls := make([]call, len(batch))
	for i, m := range batch {
		calls[i] = e.resolve(m, sender)
	}
	answers, world, err := outcome(ctx, calls, world)
	if err == nil {
		err = context.Cause(ctx) // a call that could not wait for its answer is no outcome
	}
	if err != nil {
		return nil, session.World{}, err
	}
	return answers, world, nil
}

func outcome(ctx context.Context, calls []call, world session.World) ([]Answer, session.World, error) {
	if len(calls) == 1 {
		answer := calls[0].run(ctx, &world)
		return []Answer{answer}, world, nil
	}
	return firstFailing(ctx, calls, world)
}

// call is one recognised call, a program, or the exception that its source raises at once.
type call struct {
	program *program
	tool    *tool.Tool
	args    tool.Args
	raises  error
}

// resolve turns what a message carries into a call.
func (e *Environment) resolve(m *worldv1.Message, sender worldv1.Role) call {
	if stated := m.GetCall(); stated != nil {
		return e.stated(stated, sender)
	}
	return e.code(sandbox.Content(m), sender)
}

// stated resolves a call as a role states it. Arguments that are a text with an object in it are
// that object.
func (e *Environment) stated(stated *worldv1.ToolCall, sender worldv1.Role) call {
	args, err := sandbox.Arguments(stated)
	if err != nil {
		args = python.Str("") // any text: it is no mapping
	}
	if text, ok := args.AsStr(); ok && sandbox.IsObject(text) {
		if args, err = syntax.ParseLiteral(strings.TrimSpace(text)); err != nil {
			return e.code(sandbox.Source(stated), sender)
		}
	}
	if number, found := python.NonFinite(args); found {
		return call{raises: undefined(number)}
	}
	t := e.find(stated.GetTool(), sender)
	if t == nil {
		return call{raises: undefined(stated.GetTool())}
	}
	bound, err := t.BindMapping(args)
	return checked(call{tool: t, args: bound, raises: err})
}

// code compiles source.
func (e *Environment) code(text string, sender worldv1.Role) call {
	compiled, err := syntax.Parse(text)
	if err != nil {
		return call{raises: err}
	}
	return call{program: &program{source: text, compiled: compiled, environment: e, sender: sender}}
}

// called resolves a call that a program makes.
func (e *Environment) called(name string, positional []python.Value, keyword *python.Dict, sender worldv1.Role) call {
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
	return checked(call{tool: t, args: bound, raises: err})
}

// checked adds what the arguments raise in any world.
func checked(c call) call {
	if c.raises == nil {
		c.raises = c.tool.CheckArgs(c.args)
	}
	return c
}

// find returns the tool of that name if the role may call it.
func (e *Environment) find(name string, sender worldv1.Role) *tool.Tool {
	return e.selection.Tool(e.catalogue, name, sender)
}

func undefined(name string) error {
	return &python.Exception{Type: "NameError", Text: "name '" + name + "' is not defined"}
}

// looks says whether the call changes nothing and raises in no world.
func (c *call) looks() bool {
	return c.raises == nil && c.tool != nil && c.tool.Answer != nil
}

// evaluate executes the call on a world and returns what the tool returns, None for a program.
func (c *call) evaluate(ctx context.Context, w *session.World) (python.Value, error) {
	if c.raises != nil {
		return python.Value{}, c.raises
	}
	if c.program != nil {
		_, err := c.program.run(ctx, w)
		return python.None(), err
	}
	return c.tool.Call(ctx, w, c.args)
}

// run executes the call on a world and says what it answers.
func (c *call) run(ctx context.Context, w *session.World) Answer {
	if c.program != nil {
		answer, _ := c.program.run(ctx, w)
		return answer
	}
	answer := Answer{}
	if c.tool != nil {
		answer.Tool = c.tool.Name
	}
	if c.looks() { // nothing that it reads decides whether it raises
		unwatched := *w
		unwatched.Watch(nil)
		w = &unwatched
	}
	result, err := c.evaluate(ctx, w)
	if err != nil {
		return answer.raised(err)
	}
	answer.Traces = []*worldv1.ToolTrace{trace(c.tool.Name, c.args, result)}
	answer.Content = python.Repr(result)
	return answer
}

// printed returns output as an answer has it: a message is UTF-8, the text need not be; and white
// space at its ends is lost.
func printed(output string) string {
	return strings.TrimFunc(strings.ToValidUTF8(output, "\uFFFD"), isSpace)
}

// isSpace says what Python's str.strip removes.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F }

// raised makes an answer of an exception: only the last line of its text survives, unless the
// source does not compile.
func (a Answer) raised(err error) Answer {
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	var compile *syntax.Error
	if errors.As(err, &compile) {
		a.Content, a.Exception = text, text
		return a
	}
	text = strings.TrimRight(text, "\n")
	text = text[strings.LastIndexByte(text, '\n')+1:]
	a.Content, a.Exception = text, text
	return a
}

// trace returns what is remembered of a successful call.
func trace(name string, args tool.Args, result python.Value) *worldv1.ToolTrace {
	return &worldv1.ToolTrace{Tool: name, ArgumentsJson: python.JSON(args.Trace()), ResultJson: python.JSON(result)}
}
