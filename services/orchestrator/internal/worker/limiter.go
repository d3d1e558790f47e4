package worker

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// activePerCore is how many rollouts are active at once for each core.
	activePerCore = 64
	// activeLimit is how long a rollout counts as active: one that waits for a peer that is slow or
	// away must not keep others from theirs.
	activeLimit = 250 * time.Millisecond
)

// limiter is a semaphore of active rollouts: those whose player is not being asked. It is first in,
// first out. If thousands of turns came back together and all were active at once, all of them
// would end late, and together again.
type limiter struct{ active *semaphore.Weighted }

func newLimiter() limiter {
	return limiter{active: semaphore.NewWeighted(int64(activePerCore * runtime.GOMAXPROCS(0)))}
}

// take acquires the semaphore. Only the end of ctx is an error. release may be called twice, and
// happens by itself after activeLimit.
func (l limiter) take(ctx context.Context) (release func(), err error) {
	if err := l.active.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	once := sync.OnceFunc(func() { l.active.Release(1) })
	timer := time.AfterFunc(activeLimit, once)
	return func() { timer.Stop(); once() }, nil
}

// acquire waits until the rollout may be active.
func (r *runner) acquire(ctx context.Context) (err error) {
	r.release()
	r.deactivate, err = r.limiter.take(ctx)
	return err
}

// release lets another rollout be active while this one waits.
func (r *runner) release() {
	if r.deactivate != nil {
		r.deactivate()
		r.deactivate = nil
	}
}
