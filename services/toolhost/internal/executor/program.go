package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/limit"
	"github.com/toolsandbox/toolsandbox/python/syntax"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// codeRun is code and its speaker.
type codeRun struct {
	source      string
	compiled    *syntax.Module
	environment *Environment
	sender      worldv1.Role
	// steps is the number of steps of the last run.
	steps int
}

// stepsPerCall is the number of a program's steps that count as one call in the search.
const stepsPerCall = 200

// cost returns the number of calls as which a run of the call counts, according to its last run.
func (c *call) cost() int {
	if c.program == nil {
		return 1 + c.args.Steps()/stepsPerCall
	}
	return 1 + c.program.steps/stepsPerCall
}

// run executes the program on a world and returns its answer. The error is the one that ended the
// program. Its changes and the traces of its calls remain.
func (p *codeRun) run(ctx context.Context, w *session.World) (Answer, error) {
	tools := &programTools{ctx: ctx, program: p, world: w}
	outcome := interp.Run(ctx, p.compiled, tools)
	p.steps = outcome.Steps + tools.steps
	answer := Answer{Content: python.Strip(strings.ToValidUTF8(outcome.Output, "\uFFFD")), Traces: tools.traces}
	if outcome.Err == nil {
		return answer, nil
	}
	failedAnswer := answer.withException(outcome.Err)
	if answer.Content != "" {
		failedAnswer.Content = answer.Content + "\n" + failedAnswer.Content
	}
	return failedAnswer, outcome.Err
}

// programTools provides tools to a program.
type programTools struct {
	ctx     context.Context
	program *codeRun
	world   *session.World
	traces  []*worldv1.ToolTrace
	// steps is the number of steps of a pack's tools.
	steps int
}

// errSteps ends a program if the pack's tools that it calls exceed the steps of a run. The program
// cannot catch it.
var errSteps = fmt.Errorf("TimeoutError: more than %d steps are needed", limit.Steps)

// Callable reports whether the speaker may call the tool.
func (t *programTools) Callable(name string) bool {
	return t.program.environment.find(name, t.program.sender) != nil
}

// Call calls a tool and stores its trace.
func (t *programTools) Call(name string, positional []python.Value, keyword *python.Dict) (python.Value, error) {
	c := t.program.environment.programCall(name, positional, keyword, t.program.sender)
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

// exception converts an exception of a tool to one that the program can catch, unless the context
// has ended.
func (t *programTools) exception(err error) error {
	var exception *python.Exception
	if errors.As(err, &exception) || t.ctx.Err() != nil {
		return err
	}
	kind, text, _ := strings.Cut(err.Error(), ": ")
	return &python.Exception{Type: kind, Text: text}
}
