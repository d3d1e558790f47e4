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
	// ownershipWindow is how long after its last entry a worker may assume that it still owns the log.
	// A worker that was suspended for longer checks for recorded replies to another one.
	ownershipWindow = time.Second
	// maxPendingCalls bounds the bytes of calls that are written together with their results, because
	// both have to fit into one entry.
	maxPendingCalls = 64 << 10
)

// append applies and writes an entry. The last entry carries the end. Calls are written together
// with their results. If the worker dies in between, the next one gets the same calls, because the
// gateway recomputes or records them, and the tool host executes none twice.
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
		case speaker == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT && r.calls == nil && proto.Size(turn) <= maxPendingCalls:
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

// isFresh reports whether no worker can have received a reply to the coming turn: this delivery is
// the first to play the rollout and has not asked for the turn, and the log was its own within
// ownershipWindow. The log itself proves nothing, because it may have lost its tail.
func (r *runner) isFresh() bool {
	return r.first && !r.asked && !r.rollout.GetReplay() && time.Since(r.appended) < ownershipWindow
}
