package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/python/interp"
	"github.com/toolsandbox/toolsandbox/internal/python/limit"
	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// program is code and its speaker.
type program struct {
	source      string
	compiled    *syntax.Module
	environment *Environment
	sender      worldv1.Role
	// steps is how much work the last run was.
	steps int
}

// stepsPerCall is how many steps of a program count as one call in the search for a failing order.
const stepsPerCall = 100

// weight says how many calls of a tool a run of the call is worth, by its last run.
func (c *call) weight() int {
	if c.program == nil {
		return 1 + c.args.Steps()/stepsPerCall
	}
	return 1 + c.program.steps/stepsPerCall
}

// run executes the program on a world and says what it answers. The error is what ended it, if
// anything did: what it changed until then stays, and the calls that it made have their traces.
func (p *program) run(ctx context.Context, w *session.World) (Answer, error) {
	tools := &programTools{ctx: ctx, program: p, world: w}
	outcome := interp.Run(ctx, p.compiled, tools)
	p.steps = outcome.Steps + tools.steps
	answer := Answer{Content: printed(outcome.Output), Traces: tools.traces}
	if outcome.Err == nil {
		return answer, nil
	}
	raised := answer.raised(outcome.Err)
	if answer.Content != "" {
		raised.Content = answer.Content + "\n" + raised.Content
	}
	return raised, outcome.Err
}

// programTools are the tools that a program calls on its world.
type programTools struct {
	ctx     context.Context
	program *program
	world   *session.World
	traces  []*worldv1.ToolTrace
	// steps is how much work the tools of a pack were.
	steps int
}

// errSteps ends a program whose calls of a pack's tools take more steps than a run may. It is no
// exception that the program can catch.
var errSteps = fmt.Errorf("TimeoutError: more than %d steps are needed", limit.Steps)

// Callable says whether the speaker may call the tool.
func (t *programTools) Callable(name string) bool {
	return t.program.environment.find(name, t.program.sender) != nil
}

// Call calls a tool and keeps its trace.
func (t *programTools) Call(name string, positional []python.Value, keyword *python.Dict) (python.Value, error) {
	c := t.program.environment.called(name, positional, keyword, t.program.sender)
	result, err := c.evaluate(t.ctx, t.world)
	if t.steps += c.args.Steps(); t.steps > limit.Steps {
		return python.Value{}, errSteps
	}
	if err != nil {
		return python.Value{}, t.exception(err)
	}
	t.traces = append(t.traces, trace(name, c.args, result))
	return result, nil
}

// exception makes what a tool raises an exception that the program can catch, unless the context
// has ended.
func (t *programTools) exception(err error) error {
	var exception *python.Exception
	if errors.As(err, &exception) || t.ctx.Err() != nil {
		return err
	}
	kind, text, _ := strings.Cut(err.Error(), ": ")
	return &python.Exception{Type: kind, Text: text}
}
