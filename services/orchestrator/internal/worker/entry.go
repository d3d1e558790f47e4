package worker

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/computed"
)

const (
	// ownershipWindow is how long after its last entry a worker may assume that it still owns the log.
	// A worker that was suspended for longer checks for recorded replies to another one.
	ownershipWindow = time.Second
	// maxUnwritten bounds the bytes of turns that wait for the next one, because all have to fit into
	// one entry.
	maxUnwritten = 64 << 10
)

// append applies an entry, and writes it with the turns that wait. The last entry carries the end.
// A start and turns wait for the next turn if that needs no player outside this program. If the
// worker dies in between, the next one plays the same turns: players are computed or recorded, and
// the tool host executes no call twice. A claim of a log that exists does not wait, because it
// fences the previous worker.
func (r *runner) append(ctx context.Context, entry *busv1.LogEntry) error {
	if err := r.state.Apply(entry); err != nil {
		return fmt.Errorf("rollout %s: %w", r.rollout.GetId(), err)
	}
	r.requested = false
	waits := r.state.End() == nil && (entry.GetClaim() == nil || entry.GetStart() != nil)
	if waits {
		speaker, over := r.state.Next()
		if over != nil {
			entry.End = over
			r.state.Finish(over)
		}
		waits = over == nil && r.isComputed(speaker)
	}
	r.unwrittenBytes += proto.Size(entry)
	if r.unwritten == nil {
		r.unwritten = entry
	} else {
		r.unwritten.Turns = append(r.unwritten.Turns, entry.GetTurns()...)
		r.unwritten.End = entry.GetEnd()
	}
	if waits && r.unwrittenBytes <= maxUnwritten {
		return nil
	}
	return r.write(ctx)
}

// write writes the turns that wait.
func (r *runner) write(ctx context.Context) error {
	entry := r.unwritten
	r.unwritten, r.unwrittenBytes = nil, 0
	end, err := r.peers.Bus.Append(ctx, r.rollout.GetId(), entry, r.end)
	if err != nil {
		return err
	}
	r.end, r.appended = end, time.Now()
	return nil
}

// handOver writes the turns that wait, for the next worker. It returns reason.
func (r *runner) handOver(ctx context.Context, reason error) error {
	if r.unwritten != nil {
		if err := r.write(ctx); err != nil {
			return err
		}
	}
	return reason
}

// isComputed reports whether the coming turn needs no player outside this program.
func (r *runner) isComputed(speaker worldv1.Role) bool {
	if _, interrupted := r.state.Interruption(speaker); interrupted || r.isGiven() {
		return true
	}
	switch speaker { // nobody plays the others
	case worldv1.Role_ROLE_AGENT:
		return computed.Plays(r.rollout.GetAgent())
	case worldv1.Role_ROLE_USER:
		return computed.Plays(r.rollout.GetUser())
	}
	return true
}

// isFresh reports whether no worker can have received a reply to the coming turn: this delivery is
// the first to play the rollout and has not asked for the turn, and the log was its own within
// ownershipWindow. The log itself proves nothing, because it may have lost its tail.
func (r *runner) isFresh() bool {
	return r.first && !r.requested && !r.rollout.GetReplay() && time.Since(r.appended) < ownershipWindow
}
