package worker

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// longBytes is the size from which a conversation is long. A short one is held without asking:
// thousands of them may wait for their models at once.
const longBytes = 256 << 10

// askingShare is the part of the room whose conversations may be with their players at once: on its
// way there and back each exists several times, here, at the gateway and at the player.
const askingShare = 2

// mediumBytes is what a long conversation is expected to stay below. One that does not needs room
// for the longest that it may become.
const mediumBytes = 1 << 20

// room bounds the bytes of long conversations in memory. A rollout takes room for more than its
// conversation has. Nobody waits for more while holding some: all could wait for ever.
type room struct {
	free  *semaphore.Weighted
	total int64
}

func newRoom(total int64) room { return room{free: semaphore.NewWeighted(total), total: total} }

// enter takes room for a conversation of up to so many bytes. Only the end of ctx is an error.
// leave gives it back.
func (r room) enter(ctx context.Context, bytes int64) (leave func(), err error) {
	weight := min(bytes, r.total) // one that is longer than the room has it for itself
	if err := r.free.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() { r.free.Release(weight) }, nil
}

// needs returns the room for the rollout's conversation: as long as nobody knows how long that is,
// for the longest.
func (r *runner) needs() int64 {
	longest := r.rollout.GetMaxBytes()
	if longest == 0 {
		longest = rollout.DefaultMaxBytes
	}
	switch {
	case r.state != nil && r.state.Bytes() <= longBytes:
		return 0
	case r.state != nil && r.state.Bytes() <= mediumBytes:
		return min(mediumBytes, longest)
	}
	return longest
}

// enter waits until there is room for the rollout's conversation. Others are worked on meanwhile. A
// rollout that had room, but too little, forgets the conversation while it waits, and reads it
// again.
func (r *runner) enter(ctx context.Context) error {
	bytes := r.needs()
	switch {
	case bytes == 0:
		r.exit()
		return nil
	case bytes <= r.inside || r.inside > 0 && r.calls != nil: // calls that are not written yet are few
		return nil
	}
	forgotten := r.inside > 0
	r.exit()
	if forgotten {
		r.state, r.digests = nil, make(map[worldv1.Role]viewDigest, 2)
	}
	r.release()
	leave, err := r.room.enter(ctx, bytes)
	if err != nil {
		return err
	}
	r.leave, r.inside = leave, bytes
	if err := r.acquire(ctx); err != nil || !forgotten {
		return err
	}
	return r.remember(ctx)
}

// remember reads the conversation again.
func (r *runner) remember(ctx context.Context) error {
	log, err := r.peers.Bus.ReadLog(ctx, r.rollout.GetId())
	if err != nil {
		return err
	}
	if log.End.Sequence != r.end.Sequence {
		return bus.ErrFenced
	}
	if r.state, err = rollout.Fold(log.Entries); err != nil {
		return fmt.Errorf("rollout %s: %w", r.rollout.GetId(), err)
	}
	return nil
}

// exit gives back the room that the rollout has.
func (r *runner) exit() {
	if r.leave != nil {
		r.leave()
		r.leave, r.inside = nil, 0
	}
}

// ask waits until the conversation may go to its player. That time does not count as the player's.
func (r *runner) ask(ctx context.Context) (answered func(), err error) {
	if r.state.Bytes() <= longBytes {
		return func() {}, nil
	}
	return r.asking.enter(ctx, r.state.Bytes())
}
