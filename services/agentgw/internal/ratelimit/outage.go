package ratelimit

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// logAfter is how long requests are refused before the log reports it; budgets adapt by shorter
	// refusals. logEvery is the interval of log lines.
	logAfter = 2 * time.Second
	logEvery = time.Minute
)

// errFailed reports a failure of the provider or the network to the breaker. errExcluded reports an
// outcome that does not count.
var errFailed, errExcluded = errors.New("failed"), errors.New("nothing")

func (b *budget) newBreaker(cfg Config) *gobreaker.TwoStepCircuitBreaker[any] {
	return gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Timeout:     cfg.OpenFor,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= uint32(cfg.BreakerFailures) },
		IsExcluded:  func(err error) bool { return errors.Is(err, errExcluded) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				b.openUntil = time.Now().Add(cfg.OpenFor + time.Millisecond) // the breaker is certainly half-open then
			}
		},
	})
}

// outage is a time in which a provider answers no request under a key. The zero value is none.
type outage struct {
	start, blockedUntil time.Time // first refusal or failure; end of the pause or of the open breaker at the last one
	requests            int       // refused or failed ones
	reason              string    // of the last one
	waitingSince        map[SweepRound]time.Time
}

// addRun starts the wait of a run, unless it waits already.
func (o *outage) addRun(now time.Time, r SweepRound) {
	if _, waits := o.waitingSince[r]; !waits && !o.start.IsZero() {
		o.waitingSince[r] = now
	}
}

// lastReason returns the suffix of an error with the last message of the provider or the network,
// "" if there is none.
func (o *outage) lastReason() string {
	if o.reason == "" {
		return ""
	}
	return "; the last reason was: " + o.reason
}

// blockedUntil returns when requests may begin again, after the pause and the open breaker.
func (b *budget) blockedUntil() time.Time { return later(b.openUntil, b.pausedUntil) }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// mayWait reports whether a run may keep waiting: it has not waited in the outage for MaxWait.
func (b *budget) mayWait(now time.Time, r SweepRound) bool {
	since, waits := b.outage.waitingSince[r]
	return !waits || min(now.Sub(since), b.outage.blockedUntil.Sub(since)) < b.limiter.cfg.MaxWait
}

// waitError returns the error of a run's request that may not wait, nil if it may. A run waits for
// a provider that has succeeded before, so that an outage costs time and no rollouts.
func (b *budget) waitError(now time.Time, r SweepRound) error {
	closed := b.breaker.State() == gobreaker.StateClosed
	switch {
	case (closed || b.hasSucceeded) && b.mayWait(now, r):
		return nil
	case closed:
		return fmt.Errorf("%w: in %s %d requests were refused or failed and none was answered%s",
			ErrOutage, now.Sub(b.outage.start).Round(time.Second), b.outage.requests, b.outage.lastReason())
	}
	next := max(b.openUntil.Sub(now), 0).Round(time.Millisecond)
	return fmt.Errorf("%w, next attempt in %s%s", ErrBreakerOpen, next, b.outage.lastReason())
}

// recordRefusal records that a request of a run was refused or failed. It fails queued requests
// that may wait no longer, and logs at intervals.
func (b *budget) recordRefusal(now time.Time, r SweepRound, o Outcome) {
	if b.outage.start.IsZero() {
		b.outage.start, b.outage.waitingSince = now, make(map[SweepRound]time.Time)
	}
	b.outage.addRun(now, r)
	b.outage.blockedUntil = later(now, b.blockedUntil())
	b.outage.requests++
	b.outage.reason = cmp.Or(o.Reason, b.outage.reason)
	lasted, blocked := now.Sub(b.outage.start), b.outage.blockedUntil.Sub(now)
	if now.Before(b.openUntil) || lasted >= b.limiter.cfg.MaxWait {
		b.queue.fail(func(p *Permit) error { return b.waitError(now, p.request.Run) })
	}
	if lasted+blocked < logAfter || now.Sub(b.lastLogged) < logEvery {
		return
	}
	b.lastLogged = now
	if b.loggedOutage.IsZero() {
		b.loggedOutage = b.outage.start
	}
	b.limiter.logger.Warn("provider does not answer", "provider", b.key.Provider, "reason", b.outage.reason,
		"for", lasted.Round(time.Second), "next_request", blocked.Round(time.Second))
}

// recordSuccess ends an outage. It logs the end of a reported outage as soon as other requests may
// begin too.
func (b *budget) recordSuccess(now time.Time) {
	if !b.loggedOutage.IsZero() && !now.Before(b.blockedUntil()) {
		b.limiter.logger.Warn("provider answers again", "provider", b.key.Provider, "after", now.Sub(b.loggedOutage).Round(time.Second))
		b.loggedOutage = time.Time{}
	}
	b.hasSucceeded, b.outage = true, outage{}
}
