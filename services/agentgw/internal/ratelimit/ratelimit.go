// Package ratelimit decides when a request to a model provider may begin. Each provider's key has
// a budget over all rollouts: requests and tokens per minute, and requests at once. It adapts to
// refusals, is shared fairly between sweeps, and pauses when the provider asks for it. Each sweep
// may have a limit of what it spends. A key belongs to one replica of the gateway at a time, so
// that nobody else uses its budget.
//
// A request passes these states; an error ends it while it is queued.
//
//	        its sweep's turn, room in the budget, fits into the sweep's limit
//	queued ───────────────────────────────────────────────────────────────────▶ running ──▶ ended
//	  ErrQueueFull, ErrSpent, ErrOutage, ErrBreakerOpen
//
// Throttled and Overloaded halve what a budget allows and pause it. Each run of Succeeded gives
// some of it back. The breaker of a budget is in one of these states:
//
//	closed ──▶ open after Failed many times in a row ──▶ half-open after a while: one request tries
//	  ▲                       ▲───────────── Failed ────────────┤
//	  ╰───────────────────────────────── else ──────────────────╯
//
// While the breaker is open, requests to a provider that has worked stay in the queue, and others
// end with ErrBreakerOpen. An outage bounds that wait:
//
//	answering ── Throttled, Overloaded, Failed ──▶ outage ── Succeeded ──▶ answering
//	                        a run has waited in it for long: ErrOutage, or ErrBreakerOpen
package ratelimit

import (
	"context"
	"errors"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

var (
	// ErrSpent says that the sweep has reached its limit of tokens or money: nothing more of it may
	// begin.
	ErrSpent = errors.New("spend limit reached")
	// ErrBreakerOpen says that the circuit breaker of the key is open, and that the provider has
	// never worked or was waited for long enough.
	ErrBreakerOpen = errors.New("circuit breaker is open")
	// ErrQueueFull says that too many requests of the sweep wait for the budget already.
	ErrQueueFull = errors.New("too many requests wait for the provider")
	// ErrOutage says that the provider has answered nothing for as long as a run waits for that.
	ErrOutage = errors.New("provider answers nothing")
)

// Recordings know what the recorded turns of sweeps have cost; a bus is one.
type Recordings interface {
	// Spent sums what the turns of a sweep have cost, up to a revision.
	Spent(ctx context.Context, sweepID string) (sum bus.Spent, revision uint64, err error)
	// FollowSpent calls visit with what each turn that is recorded after a revision has cost, and
	// with who recorded it, until ctx is done.
	FollowSpent(ctx context.Context, sweepID string, revision uint64, visit func(by string, added bus.Spent)) error
}

// Key names a budget: a provider and what it counts requests by.
type Key struct {
	// Provider is the word for it in player names, e.g. openai.
	Provider string
	// Fingerprint tells keys of the provider and its addresses apart, without holding a key.
	Fingerprint string
}

// Cost is an amount of tokens and of money in millionths of a US dollar. As a limit, a field of 0
// is none.
type Cost struct {
	Tokens, Micros int64
}

// Plus returns the sum.
func (c Cost) Plus(o Cost) Cost { return Cost{c.Tokens + o.Tokens, c.Micros + o.Micros} }

// Run is a sweep in one of its rounds. What is played again waits anew for a provider that answers
// nothing.
type Run struct {
	// Sweep is empty if nobody's spending is to be counted.
	Sweep string
	Round int32
}

// Request is a request that wants to begin.
type Request struct {
	Key Key
	// Run is whose request it is.
	Run Run
	// Model is the model's name. What its requests cost corrects later estimates.
	Model string
	// Estimate is what the request may cost, without money where the price is not known.
	Estimate Cost
	// Limit is what the sweep may spend in all. The last one given counts.
	Limit Cost
}

// Class says how a request ended, as a word for metrics.
type Class string

// The classes of a request's end.
const (
	// Succeeded says that the provider answered.
	Succeeded Class = "succeeded"
	// Rejected says that the provider refused this request for itself: it works.
	Rejected Class = "rejected"
	// Throttled says that the provider refuses requests because there are too many (429).
	Throttled Class = "throttled"
	// Overloaded says that the provider has too much to do (503, 529), or that it asks for a long
	// wait.
	Overloaded Class = "overloaded"
	// Failed says that the provider or the network failed.
	Failed Class = "failed"
	// Abandoned says that we gave up: nothing is known but that it may have cost something.
	Abandoned Class = "abandoned"
	// Unsent says that the request was not sent.
	Unsent Class = "unsent"
)

// refused says that the provider has no room, or asks for a pause.
func (c Class) refused() bool { return c == Throttled || c == Overloaded }

// Outcome is how a request ended.
type Outcome struct {
	Class Class
	// Cost is what the provider counted, at its price. Without tokens the provider did not say.
	Cost Cost
	// Charged says that the provider may charge for the request although it failed.
	Charged bool
	// RetryAfter is how long the provider asks to wait, 0 if it does not say. It holds for the
	// whole budget.
	RetryAfter time.Duration
	// Reason is what the provider or the network said, without keys: it may be shown to all who use
	// the budget.
	Reason string
}
