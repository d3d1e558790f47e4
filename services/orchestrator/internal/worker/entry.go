package worker

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// ownFor is how long after its last entry a log is taken to be a worker's own. A worker that
	// was stopped for longer looks for what another one may have been answered meanwhile.
	ownFor = time.Second
	// maxWaiting bounds the calls that wait for their answers before they are written: both have to
	// fit into one entry.
	maxWaiting = 64 << 10
)

// append applies an entry and writes it. An entry after which nobody speaks carries the end with
// it. Calls are written with their answers: should this worker die in between, the next one is
// answered the same calls, because the gateway computes or keeps them, and the tool host executes
// none twice.
func (g *game) append(ctx context.Context, entry *busv1.LogEntry) error {
	if err := g.state.Apply(entry); err != nil {
		return fmt.Errorf("rollout %s: %w", g.rollout.GetId(), err)
	}
	if turn := entry.GetTurn(); turn != nil && g.state.End() == nil {
		speaker, over := g.state.Next()
		switch {
		case over != nil:
			entry.End = over
			g.state.Finish(over)
		case speaker == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT && g.calls == nil && proto.Size(turn) <= maxWaiting:
			g.calls = turn
			return nil
		}
	}
	if g.calls != nil {
		entry.Turn, entry.Answers, g.calls = g.calls, entry.GetTurn(), nil
	}
	var err error
	g.end, err = g.peers.Bus.Append(ctx, g.rollout.GetId(), entry, g.end)
	g.asked, g.appended = false, time.Now()
	return err
}

// fresh says whether nobody can have been answered the coming turn: this worker has not asked for
// it, and not enough time has passed since the log was its own that another could have taken it
// over and been answered.
func (g *game) fresh() bool {
	return !g.asked && !g.rollout.GetReplay() && time.Since(g.appended) < ownFor
}
