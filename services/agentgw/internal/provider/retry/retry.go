// Package retry retries transient failures: a bounded number of times, with exponential backoff and
// jitter, and no earlier than the server asks.
package retry

import (
	"context"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/pause"
)

// MaxRetryAfter is the longest Retry-After that a turn waits for. The caller delays the next turn
// for a longer one.
const MaxRetryAfter = time.Minute

// InitialWait is the default wait before the second attempt.
const InitialWait = 500 * time.Millisecond

const (
	maxWait = 8 * time.Second
	// maxThrottled bounds the throttled attempts.
	maxThrottled = 20
)

// Outcome is the result of one attempt.
type Outcome struct {
	// Err is nil if the attempt succeeded.
	Err error
	// Retryable: another attempt may succeed.
	Retryable bool
	// RetryAfter is the wait that the server asks for, 0 if it does not say.
	RetryAfter time.Duration
	// Throttled: the server refused the attempt because of its rate limit, and the next attempt itself
	// waits for the limiter. Such an attempt does not count.
	Throttled bool
	// Expected is the expected duration of the next attempt. Do makes no attempt that would outlast
	// ctx.
	Expected time.Duration
}

// Policy says how often and when to retry. It is immutable and safe for concurrent use.
type Policy struct {
	// Attempts is the largest number of attempts, at least 1.
	Attempts int
	// InitialWait is the wait before the second attempt. Later ones double.
	InitialWait time.Duration
	// Jitter returns a number from 0 to 1. It is called concurrently.
	Jitter func() float64
}

// Do calls attempt until it succeeds, is not retryable, has no attempts left, or ctx would end
// before the next attempt. It returns the last attempt's error.
func (p Policy) Do(ctx context.Context, attempt func(ctx context.Context) Outcome) error {
	paced := 0
	for n := 1; ; n++ {
		last := attempt(ctx)
		for last.Throttled && paced < maxThrottled && lastsLonger(ctx, last.Expected) {
			paced++
			last = attempt(ctx)
		}
		if last.Err == nil || !last.Retryable || n >= p.Attempts || last.RetryAfter > MaxRetryAfter {
			return last.Err
		}
		wait := p.wait(n, last.RetryAfter)
		if !lastsLonger(ctx, wait+last.Expected) {
			return last.Err
		}
		if !pause.For(ctx, wait) {
			return last.Err
		}
	}
}

// lastsLonger reports whether ctx lasts longer than a duration.
func lastsLonger(ctx context.Context, d time.Duration) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() == nil && (!limited || time.Until(deadline) > d)
}

// wait returns the wait before attempt n+1: the requested one plus up to a quarter of it, or half
// to all of the exponential backoff.
func (p Policy) wait(n int, requested time.Duration) time.Duration {
	if requested > 0 {
		return requested + time.Duration(p.Jitter()*float64(requested)/4)
	}
	wait := min(p.InitialWait<<min(n-1, 10), maxWait)
	return wait/2 + time.Duration(p.Jitter()*float64(wait)/2)
}
