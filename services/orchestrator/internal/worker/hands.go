package worker

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// handsPerCore is how many rollouts are worked on at once for each core.
	handsPerCore = 64
	// handLimit is how long a rollout counts as worked on: one that waits for a peer that is slow
	// or away must not keep others from theirs.
	handLimit = 250 * time.Millisecond
)

// hands bounds the rollouts that are worked on at once, those whose player is not being asked; who
// waits gets on first come, first served. If thousands of turns that come back together were all
// worked on at once, all of them would be done late, and together again.
type hands struct{ free *semaphore.Weighted }

func newHands() hands {
	return hands{free: semaphore.NewWeighted(int64(handsPerCore * runtime.GOMAXPROCS(0)))}
}

// take waits for a free hand. Only the end of ctx is an error. release gives the hand back, if that
// has not happened by itself; it may be called again.
func (h hands) take(ctx context.Context) (release func(), err error) {
	if err := h.free.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	once := sync.OnceFunc(func() { h.free.Release(1) })
	timer := time.AfterFunc(handLimit, once)
	return func() { timer.Stop(); once() }, nil
}

// goOn waits until the rollout may be worked on.
func (g *game) goOn(ctx context.Context) (err error) {
	g.rest()
	g.release, err = g.hands.take(ctx)
	return err
}

// rest lets others go on while the rollout waits.
func (g *game) rest() {
	if g.release != nil {
		g.release()
		g.release = nil
	}
}
