package worker

import (
	"context"
	"errors"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/computed"
)

// compute plays the turn of a computed player. It has no span: it takes microseconds, and a script
// has no place in a trace, because an oracle's solves the task.
func (r *runner) compute(ctx context.Context, role worldv1.Role, player *agentgwv1.Player, script []*worldv1.ScriptTurn) (*busv1.Turn, *busv1.End) {
	start := time.Now()
	messages, err := computed.Turn(player, &computed.Position{
		Role:     role,
		Index:    int32(len(r.state.Messages())),
		Turn:     r.state.TurnsOf(role),
		Scripted: r.state.Scripted(role, script),
		View:     func() []*worldv1.Message { return r.state.View(role, r.setup.GetShownToUser()) },
		Tools:    r.tools[role].turnTools(),
		Seed:     r.rollout.GetSeed(),
		Compat:   r.rollout.GetCompat(),
	})
	r.metrics.turn(ctx, start, role, player)
	if mistake, ok := errors.AsType[*turn.Mistake](err); ok {
		return nil, playerFailure(role, turn.Failed(agentgwv1.FailureClass_FAILURE_CLASS_MODEL, mistake.Exception, mistake.Detail).GetFailure())
	}
	if panicked, ok := errors.AsType[*computed.PanicError](err); ok {
		r.peers.Logger.Error("computed turn panicked", "rollout", r.rollout.GetId(), "panic", panicked.Reason, "stack", string(panicked.Stack))
	}
	if err != nil {
		return nil, infrastructureEnd(err)
	}
	return r.state.Turn(messages, nil), nil
}
