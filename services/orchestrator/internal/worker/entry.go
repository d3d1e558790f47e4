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
func (r *runner) append(ctx context.Context, entry *busv1.LogEntry) error {
	if err := r.state.Apply(entry); err != nil {
		return fmt.Errorf("rollout %s: %w", r.rollout.GetId(), err)
	}
	if turn := entry.GetTurn(); turn != nil && r.state.End() == nil {
		speaker, over := r.state.Next()
		switch {
		case over != nil:
			entry.End = over
			r.state.Finish(over)
		case speaker == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT && r.calls == nil && proto.Size(turn) <= maxWaiting:
			r.calls = turn
			return nil
		}
	}
	if r.calls != nil {
		entry.Turn, entry.Answers, r.calls = r.calls, entry.GetTurn(), nil
	}
	var err error
	r.end, err = r.peers.Bus.Append(ctx, r.rollout.GetId(), entry, r.end)
	r.asked, r.appended = false, time.Now()
	return err
}

// fresh reports whether nobody can have been answered the coming turn: nobody played the rollout
// before this delivery, which has not asked for the turn, and not enough time has passed since the
// log was its own that another could have taken it over and been answered. What the log says does
// not count: it may have lost its tail.
func (r *runner) fresh() bool {
	return r.first && !r.asked && !r.rollout.GetReplay() && time.Since(r.appended) < ownFor
}
