// Package retry repeats what failed for a moment: a bounded number of times, with growing and
// jittered waits, and not before the other side asks for it.
package retry

import (
	"context"
	"time"
)

// MaxAsked is the longest wait that the other side may ask for; for a longer one it is not worth
// keeping the turn open. Whoever asks then sees to it that the next turn does not begin sooner.
const MaxAsked = time.Minute

// FirstWait is the usual wait before the second attempt.
const FirstWait = 500 * time.Millisecond

const (
	maxWait = 8 * time.Second
	// maxPaced bounds the attempts that do not count.
	maxPaced = 20
)

// Outcome is how one attempt went.
type Outcome struct {
	// Err is nil if the attempt succeeded.
	Err error
	// Again says that another attempt may succeed.
	Again bool
	// After is how long the other side asks to wait, 0 if it does not say.
	After time.Duration
	// Paced says that the other side refused the attempt because there are too many, and that the
	// next one itself waits for as long as it has to. Such an attempt does not count.
	Paced bool
	// Takes is how long the next attempt is expected to take. It is not made if ctx would end
	// first.
	Takes time.Duration
}

// Policy says how often and when to try again. It does not change and is safe for concurrent use.
type Policy struct {
	// Attempts is the largest number of attempts, at least 1.
	Attempts int
	// FirstWait is the wait before the second attempt; later ones double it.
	FirstWait time.Duration
	// Jitter returns a number from 0 to 1; it is called concurrently.
	Jitter func() float64
}

// Do calls attempt until it succeeds, may not be repeated, was called often enough, or ctx would
// end before the next one does. It returns the last attempt's error.
func (p Policy) Do(ctx context.Context, attempt func(ctx context.Context) Outcome) error {
	paced := 0
	for n := 1; ; n++ {
		last := attempt(ctx)
		for last.Paced && paced < maxPaced && fits(ctx, last.Takes) {
			paced++
			last = attempt(ctx)
		}
		if last.Err == nil || !last.Again || n >= p.Attempts || last.After > MaxAsked {
			return last.Err
		}
		wait := p.wait(n, last.After)
		if !fits(ctx, wait+last.Takes) {
			return last.Err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return last.Err
		}
	}
}

// fits says whether ctx lasts for longer than a time.
func fits(ctx context.Context, d time.Duration) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() == nil && (!limited || time.Until(deadline) > d)
}

// wait returns the time before attempt n+1: what was asked for and up to a quarter more, or half to
// all of a time that doubles.
func (p Policy) wait(n int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked + time.Duration(p.Jitter()*float64(asked)/4)
	}
	wait := min(p.FirstWait<<min(n-1, 10), maxWait)
	return wait/2 + time.Duration(p.Jitter()*float64(wait)/2)
}
