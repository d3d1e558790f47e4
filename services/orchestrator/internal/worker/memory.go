package worker

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// minLongBytes is the size from which a conversation is long. Short ones are not limited: thousands
// may wait for their models at once.
const minLongBytes = 256 << 10

// askingDivisor limits the conversations that are in requests to players to a part of the memory.
// Each exists several times then: here, at the gateway and at the player.
const askingDivisor = 2

// usualLongBytes is the expected bound of a long conversation. A larger one acquires memory for the
// longest possible conversation.
const usualLongBytes = 1 << 20

// memoryLimit is a weighted semaphore over the bytes of long conversations in memory. A rollout
// acquires more than its conversation needs now. To prevent deadlock, no rollout waits for more
// while it holds some.
type memoryLimit struct {
	free  *semaphore.Weighted
	total int64
}

func newMemoryLimit(total int64) memoryLimit {
	return memoryLimit{free: semaphore.NewWeighted(total), total: total}
}

// acquire waits for bytes, or for the whole limit if it is lower. The only error is that of ctx.
// leave releases them.
func (r memoryLimit) acquire(ctx context.Context, bytes int64) (leave func(), err error) {
	weight := min(bytes, r.total)
	if err := r.free.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() { r.free.Release(weight) }, nil
}

// memoryNeed returns the bytes to acquire for the conversation. If its length is unknown, they are
// those of the longest one.
func (r *runner) memoryNeed() int64 {
	longest := r.rollout.GetMaxBytes()
	if longest == 0 {
		longest = rollout.DefaultMaxBytes
	}
	switch {
	case r.state != nil && r.state.Bytes() <= minLongBytes:
		return 0
	case r.state != nil && r.state.Bytes() <= usualLongBytes:
		return min(usualLongBytes, longest)
	}
	return longest
}

// acquireMemory acquires memory for the conversation without holding the limiter. A rollout that
// holds too little drops the conversation, waits, and reads it again.
func (r *runner) acquireMemory(ctx context.Context) error {
	bytes := r.memoryNeed()
	switch {
	case bytes == 0:
		r.releaseMemory()
		return nil
	case bytes <= r.heldBytes || r.heldBytes > 0 && r.unwritten != nil: // unwritten turns are small
		return nil
	}
	forgotten := r.heldBytes > 0
	r.releaseMemory()
	if forgotten {
		r.state, r.digests = nil, make(map[worldv1.Role]viewDigest, 2)
	}
	r.releaseActive()
	leave, err := r.memory.acquire(ctx, bytes)
	if err != nil {
		return err
	}
	r.freeMemory, r.heldBytes = leave, bytes
	if err := r.acquireActive(ctx); err != nil || !forgotten {
		return err
	}
	return r.rereadLog(ctx)
}

// rereadLog reads the conversation again.
func (r *runner) rereadLog(ctx context.Context) error {
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

// releaseMemory releases the rollout's memory.
func (r *runner) releaseMemory() {
	if r.freeMemory != nil {
		r.freeMemory()
		r.freeMemory, r.heldBytes = nil, 0
	}
}

// ask waits until the conversation may be sent to its player. That time does not count towards the
// player's timeout.
func (r *runner) ask(ctx context.Context) (answered func(), err error) {
	if r.state.Bytes() <= minLongBytes {
		return func() {}, nil
	}
	return r.asking.acquire(ctx, r.state.Bytes())
}
