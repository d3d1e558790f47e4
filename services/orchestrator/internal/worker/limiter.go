package worker

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// activePerCore is the number of active rollouts per core.
	activePerCore = 128
	// maxActiveTime is how long a rollout counts as active. A rollout that waits for a slow peer must
	// not block others.
	maxActiveTime = 250 * time.Millisecond
)

// activeLimiter is a FIFO semaphore for active rollouts. A rollout that waits for its player holds
// no slot. If thousands of replies arrived together and all rollouts were active at once, all would
// end late, and together again.
type activeLimiter struct{ active *semaphore.Weighted }

func newLimiter() activeLimiter {
	return activeLimiter{active: semaphore.NewWeighted(int64(activePerCore * runtime.GOMAXPROCS(0)))}
}

// acquire acquires the semaphore. The only error is that of ctx. release is idempotent and is
// called automatically after maxActiveTime.
func (l activeLimiter) acquire(ctx context.Context) (release func(), err error) {
	if err := l.active.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	once := sync.OnceFunc(func() { l.active.Release(1) })
	timer := time.AfterFunc(maxActiveTime, once)
	return func() { timer.Stop(); once() }, nil
}

// acquireActive acquires the limiter.
func (r *runner) acquireActive(ctx context.Context) (err error) {
	r.releaseActive()
	r.deactivate, err = r.limiter.acquire(ctx)
	return err
}

// releaseActive releases the limiter while this rollout waits.
func (r *runner) releaseActive() {
	if r.deactivate != nil {
		r.deactivate()
		r.deactivate = nil
	}
}
