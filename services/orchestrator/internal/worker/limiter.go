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
	// activeLimit is how long a rollout counts as active. A rollout that waits for a slow peer must
	// not block others.
	activeLimit = 250 * time.Millisecond
)

// limiter is a FIFO semaphore for active rollouts. A rollout that waits for its player holds no
// slot. If thousands of replies arrived together and all rollouts were active at once, all would
// end late, and together again.
type limiter struct{ active *semaphore.Weighted }

func newLimiter() limiter {
	return limiter{active: semaphore.NewWeighted(int64(activePerCore * runtime.GOMAXPROCS(0)))}
}

// acquire acquires the semaphore. The only error is that of ctx. release is idempotent and is
// called automatically after activeLimit.
func (l limiter) acquire(ctx context.Context) (release func(), err error) {
	if err := l.active.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	once := sync.OnceFunc(func() { l.active.Release(1) })
	timer := time.AfterFunc(activeLimit, once)
	return func() { timer.Stop(); once() }, nil
}

// acquire acquires the limiter.
func (r *runner) acquire(ctx context.Context) (err error) {
	r.release()
	r.deactivate, err = r.limiter.acquire(ctx)
	return err
}

// release releases the limiter while this rollout waits.
func (r *runner) release() {
	if r.deactivate != nil {
		r.deactivate()
		r.deactivate = nil
	}
}
