package ratelimit

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// openFor is how long a provider that only fails is left alone before one request finds out
	// whether it is back, and probing when to ask again meanwhile.
	openFor = 10 * time.Second
	probing = 5 * time.Second
)

// errFailed is a failure of the provider or the network to the breaker, and errNothing the end of a
// request that says nothing about them.
var errFailed, errNothing = errors.New("failed"), errors.New("nothing")

// breaker leaves a provider alone that only fails.
type breaker struct {
	circuit  *gobreaker.TwoStepCircuitBreaker[any]
	worked   bool
	failures int       // in a row
	until    time.Time // of being open
	said     string    // by the last failure
}

func newBreaker(failures int) *breaker {
	b := &breaker{}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Timeout:     openFor,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= uint32(failures) },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNothing) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				b.until = time.Now().Add(openFor)
			}
		},
	})
	return b
}

// admit says whether a request may queue; whoever gets done tells it how the request ended. waits
// says that its run can wait for the provider: one that has worked is waited for, so that an outage
// costs time and no rollouts.
func (b *breaker) admit(now time.Time, waits bool) (done func(error), err error) {
	kind := b.kind(waits)
	done, err = b.circuit.Allow()
	switch {
	case errors.Is(err, gobreaker.ErrOpenState):
		return nil, b.reason(now, kind)
	case err != nil:
		return nil, &away{fmt.Errorf("%w, one request is finding out whether it is back%s", kind, lastly(b.said)), probing}
	}
	return done, nil
}

// kind returns ErrAway if the provider has worked and can be waited for.
func (b *breaker) kind(waits bool) error {
	if b.worked && waits {
		return ErrAway
	}
	return ErrOpen
}

// reason says why nothing may begin.
func (b *breaker) reason(now time.Time, kind error) error {
	after := b.until.Sub(now)
	return &away{
		fmt.Errorf("%w after %d failures in a row, tried again in %s%s", kind, b.failures, after.Round(time.Millisecond), lastly(b.said)), after,
	}
}

// lastly ends an error with what a provider or the network said last, if that is known.
func lastly(said string) string {
	if said == "" {
		return ""
	}
	return "; the last reason was: " + said
}

// note takes in how a request ended; opens says that it made the breaker open.
func (b *breaker) note(w *waiter, o Outcome) (opens bool) {
	before := b.until
	switch o.Class {
	case Abandoned, Unsent:
		w.tried(errNothing)
	case Failed:
		if b.circuit.State() != gobreaker.StateOpen { // else it began before it opened
			b.failures++
		}
		b.said = cmp.Or(bounded(o.Reason), b.said)
		w.tried(errFailed)
	default:
		b.worked = b.worked || o.Class == Succeeded
		w.tried(nil)
		if b.closed() {
			b.failures, b.said = 0, ""
		}
	}
	return b.until.After(before)
}

// closed says that all requests may begin.
func (b *breaker) closed() bool { return b.circuit.State() == gobreaker.StateClosed }
