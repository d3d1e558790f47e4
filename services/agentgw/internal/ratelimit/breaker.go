package ratelimit

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

const (
	breakerFirst = 2 * time.Second
	breakerMax   = time.Minute
)

// probing is when to ask again while one request finds out whether the provider is back.
const probing = 5 * time.Second

// away is ErrAway or ErrOpen.
type away struct {
	error
	after time.Duration
}

// Unwrap returns what the message was made of.
func (a *away) Unwrap() error { return a.error }

// After says in what time a request that was not let begin may be asked for again, 0 if nobody
// knows.
func After(err error) time.Duration {
	if refusal, ok := errors.AsType[*away](err); ok {
		return max(refusal.after, time.Millisecond)
	}
	return 0
}

// breaker leaves a provider alone that only fails. It belongs to one replica, for the way to the
// provider may be its own.
type breaker struct {
	threshold int
	jitter    func() float64
	worked    bool
	failures  int       // in a row
	opened    int       // times in a row
	until     time.Time // of being open
	said      string    // by the last failure
	probing   bool      // a request is on its way to find out
}

// admit says whether a request may begin or queue, and whether it is the one that finds out whether
// the provider is back; waits says that its run can wait for that.
func (b *breaker) admit(now time.Time, waits bool) (probe bool, err error) {
	switch {
	case b.opened == 0:
		return false, nil
	case now.Before(b.until):
		return false, b.reason(now, waits)
	case b.probing:
		return false, &away{fmt.Errorf("%w, one request is finding out whether it is back%s", b.refusal(waits), lastly(b.said)), probing}
	}
	b.probing = true
	return true, nil
}

// reason says why nothing may begin.
func (b *breaker) reason(now time.Time, waits bool) error {
	after := b.until.Sub(now)
	return &away{
		fmt.Errorf("%w after %d failures in a row, tried again in %s%s", b.refusal(waits), b.failures, after.Round(time.Millisecond), lastly(b.said)), after,
	}
}

// lastly ends an error with what a provider or the network said last, if that is known.
func lastly(said string) string {
	if said == "" {
		return ""
	}
	return "; the last reason was: " + said
}

// refusal returns ErrAway where a provider that has worked is waited for, so that an outage costs
// time and no rollouts, else ErrOpen.
func (b *breaker) refusal(waits bool) error {
	if b.worked && waits {
		return ErrAway
	}
	return ErrOpen
}

// note takes in how a request ended; opens says that it made the breaker open.
func (b *breaker) note(now time.Time, o Outcome, probe bool) (opens bool) {
	if probe {
		b.probing = false
	}
	switch {
	case o.Class == Abandoned || o.Class == Unsent:
		return false
	case o.Class != Failed:
		b.worked = b.worked || o.Class == Succeeded
		if b.opened == 0 || probe {
			b.failures, b.opened, b.said = 0, 0, ""
		}
		return false
	case b.opened > 0 && !probe:
		return false // began before it opened
	}
	b.failures++
	b.said = cmp.Or(bounded(o.Reason), b.said)
	if b.failures < b.threshold {
		return false
	}
	b.until = now.Add(backoff(b.opened, breakerFirst, breakerMax, b.jitter()))
	b.opened++
	return true
}

// state returns the word for metrics.
func (b *breaker) state(now time.Time) string {
	switch {
	case b.opened == 0:
		return "closed"
	case now.Before(b.until):
		return "open"
	}
	return "half-open"
}

// backoff returns the n-th of waits that double from first up to limit, shortened by up to a half.
func backoff(n int, first, limit time.Duration, jitter float64) time.Duration {
	wait := min(first<<min(n, 20), limit)
	return wait/2 + time.Duration(jitter*float64(wait)/2)
}
