package worker

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// longBytes is the size from which a conversation is long. A short one is held without asking: thousands of them may wait for their models at once.
const longBytes = 256 << 10

// askingShare is the part of the room whose conversations may be with their players at once: on its way there and back each exists several times, here, at the
// gateway and at the player.
const askingShare = 2

// room bounds the bytes of long conversations in memory. A rollout whose conversation becomes long takes room for the longest that it may become, once:
// whoever waits for more while holding some could wait for ever.
type room struct {
	free  *semaphore.Weighted
	total int64
}

func newRoom(total int64) room { return room{free: semaphore.NewWeighted(total), total: total} }

// enter takes room for a conversation of up to so many bytes. Only the end of ctx is an error. leave gives it back.
func (r room) enter(ctx context.Context, bytes int64) (leave func(), err error) {
	weight := min(bytes, r.total) // one that is longer than the room has it for itself
	if err := r.free.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() { r.free.Release(weight) }, nil
}

// enter waits until there is room for the rollout's conversation, if it is long or nobody knows yet how long it is. Others are worked on meanwhile.
func (g *game) enter(ctx context.Context) (err error) {
	if g.state != nil && g.state.Bytes() <= longBytes {
		g.exit()
		return nil
	}
	if g.leave != nil {
		return nil
	}
	longest := g.rollout.GetMaxBytes()
	if longest == 0 {
		longest = rollout.DefaultMaxBytes
	}
	g.rest()
	if g.leave, err = g.room.enter(ctx, longest); err != nil {
		return err
	}
	return g.goOn(ctx)
}

// ask waits until the conversation may go to its player. That time does not count as the player's.
func (g *game) ask(ctx context.Context) (answered func(), err error) {
	if g.state.Bytes() <= longBytes {
		return func() {}, nil
	}
	return g.asking.enter(ctx, g.state.Bytes())
}

// exit gives back the room of a conversation that is short or over.
func (g *game) exit() {
	if g.leave != nil {
		g.leave()
		g.leave = nil
	}
}
