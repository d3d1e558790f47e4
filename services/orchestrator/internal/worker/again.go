package worker

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// errPlayedAgain says that a later round's job has taken the rollout over: there is nothing to do for this one.
var errPlayedAgain = errors.New("the rollout is played again in a later round")

// intact fails if the session does not know what the log of a rollout that is played again says it answered. Nights may lie between two
// rounds: a session that was deleted is made anew, in the state of the start.
func (g *game) intact(ctx context.Context) error {
	last := int32(-1)
	for _, message := range g.state.Messages()[g.state.Starting():] {
		if message.GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
			last = message.GetIndex()
		}
	}
	if last < 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.cfg.ExecuteTimeout)
	defer cancel()
	id := g.rollout.GetId()
	response, err := g.peers.ToolHost(id).GetSession(ctx, &toolhostv1.GetSessionRequest{SessionId: id})
	if err != nil {
		return fmt.Errorf("look at session: %w", err)
	}
	if known := response.GetSession().GetLastIndex(); known < last {
		return status.Errorf(codes.FailedPrecondition, "session %s was deleted: it knows no message after %d, but its answers up to %d are in the log", id, known, last)
	}
	return nil
}
