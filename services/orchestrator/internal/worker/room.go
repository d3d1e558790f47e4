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
func (g *game) needs() int64 {
	longest := g.rollout.GetMaxBytes()
	if longest == 0 {
		longest = rollout.DefaultMaxBytes
	}
	switch {
	case g.state != nil && g.state.Bytes() <= longBytes:
		return 0
	case g.state != nil && g.state.Bytes() <= mediumBytes:
		return min(mediumBytes, longest)
	}
	return longest
}

// enter waits until there is room for the rollout's conversation. Others are worked on meanwhile. A
// rollout that had room, but too little, forgets the conversation while it waits, and reads it
// again.
func (g *game) enter(ctx context.Context) error {
	bytes := g.needs()
	switch {
	case bytes == 0:
		g.exit()
		return nil
	case bytes <= g.inside || g.inside > 0 && g.calls != nil: // calls that are not written yet are few
		return nil
	}
	forgotten := g.inside > 0
	g.exit()
	if forgotten {
		g.state, g.digests = nil, make(map[worldv1.Role]viewDigest, 2)
	}
	g.rest()
	leave, err := g.room.enter(ctx, bytes)
	if err != nil {
		return err
	}
	g.leave, g.inside = leave, bytes
	if err := g.goOn(ctx); err != nil || !forgotten {
		return err
	}
	return g.remember(ctx)
}

// remember reads the conversation again.
func (g *game) remember(ctx context.Context) error {
	log, err := g.peers.Bus.ReadLog(ctx, g.rollout.GetId())
	if err != nil {
		return err
	}
	if log.End.Sequence != g.end.Sequence {
		return bus.ErrFenced
	}
	if g.state, err = rollout.Fold(log.Entries); err != nil {
		return fmt.Errorf("rollout %s: %w", g.rollout.GetId(), err)
	}
	return nil
}

// exit gives back the room that the rollout has.
func (g *game) exit() {
	if g.leave != nil {
		g.leave()
		g.leave, g.inside = nil, 0
	}
}

// ask waits until the conversation may go to its player. That time does not count as the player's.
func (g *game) ask(ctx context.Context) (answered func(), err error) {
	if g.state.Bytes() <= longBytes {
		return func() {}, nil
	}
	return g.asking.enter(ctx, g.state.Bytes())
}
