package ratelimit

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// logAfter is how long requests are refused before the log tells of it: shorter times are how
	// budgets learn. logEvery is how often it does.
	logAfter = 2 * time.Second
	logEvery = time.Minute
)

// errFailed is a failure of the provider or the network to the breaker, and errNothing the end of a
// request that says nothing about them.
var errFailed, errNothing = errors.New("failed"), errors.New("nothing")

func (b *budget) newBreaker(cfg Config) *gobreaker.TwoStepCircuitBreaker[any] {
	return gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Timeout:     cfg.OpenFor,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= uint32(cfg.BreakerFailures) },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNothing) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				b.open = time.Now().Add(cfg.OpenFor + time.Millisecond) // it is half-open for certain
			}
		},
	})
}

// outage is a time in which a provider answers no request under a key. The zero value says that
// there is none.
type outage struct {
	began, known time.Time // when a request was first refused or failed, and until when none is answered
	requests     int       // that were refused or failed
	reason       string    // the last one
	since        map[Run]time.Time
}

// enter lets a run wait from now on, unless it does already.
func (o *outage) enter(now time.Time, r Run) {
	if _, waits := o.since[r]; !waits && !o.began.IsZero() {
		o.since[r] = now
	}
}

// lastReason ends an error with what the provider or the network said last, if that is known.
func (o *outage) lastReason() string {
	if o.reason == "" {
		return ""
	}
	return "; the last reason was: " + o.reason
}

// blockedUntil returns until when nothing may begin: the budget is paused, or the breaker is open.
func (b *budget) blockedUntil() time.Time { return later(b.open, b.paused) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// waits says whether a run waits on: it is not known to have waited in vain for as long as it may.
func (b *budget) waits(now time.Time, r Run) bool {
	since, waits := b.outage.since[r]
	known := b.outage.known
	if now.Before(known) {
		known = now
	}
	return !waits || known.Sub(since) < b.limiter.cfg.MaxWait
}

// refuse returns the error of a request of a run that would have to wait, nil if it may. A provider
// that has worked is waited for, so that an outage costs time and no rollouts.
func (b *budget) refuse(now time.Time, r Run) error {
	closed := b.breaker.State() == gobreaker.StateClosed
	switch {
	case (closed || b.worked) && b.waits(now, r):
		return nil
	case closed:
		return fmt.Errorf("%w: in %s %d requests were refused or failed and none was answered%s",
			ErrOutage, now.Sub(b.outage.began).Round(time.Second), b.outage.requests, b.outage.lastReason())
	}
	next := max(b.open.Sub(now), 0).Round(time.Millisecond)
	return fmt.Errorf("%w, tried again in %s%s", ErrBreakerOpen, next, b.outage.lastReason())
}

// recordRefusal notes that a request of a run was refused or failed, fails those that wait no
// longer, and tells the log, not too often.
func (b *budget) recordRefusal(now time.Time, r Run, o Outcome) {
	if b.outage.began.IsZero() {
		b.outage.began, b.outage.since = now, make(map[Run]time.Time)
	}
	b.outage.enter(now, r)
	b.outage.known = later(now, b.blockedUntil())
	b.outage.requests++
	b.outage.reason = cmp.Or(o.Reason, b.outage.reason)
	lasted, blocked := now.Sub(b.outage.began), b.outage.known.Sub(now)
	if now.Before(b.open) || lasted >= b.limiter.cfg.MaxWait {
		b.queue.fail(func(p *Permit) error { return b.refuse(now, p.request.Run) })
	}
	if lasted+blocked < logAfter || now.Sub(b.logged) < logEvery {
		return
	}
	b.logged = now
	if b.silent.IsZero() {
		b.silent = b.outage.began
	}
	b.limiter.logger.Warn("provider does not answer", "provider", b.key.Provider, "reason", b.outage.reason,
		"for", lasted.Round(time.Second), "next_request", blocked.Round(time.Second))
}

// answered ends an outage, and tells the log if that knows of it and others may be asked, too.
func (b *budget) answered(now time.Time) {
	if !b.silent.IsZero() && !now.Before(b.blockedUntil()) {
		b.limiter.logger.Warn("provider answers again", "provider", b.key.Provider, "after", now.Sub(b.silent).Round(time.Second))
		b.silent = time.Time{}
	}
	b.worked, b.outage = true, outage{}
}
