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
//	  ErrQueueFull, ErrSpendLimit, ErrOutage, ErrBreakerOpen
//
// Throttled and Overloaded halve what a budget allows and pause it. TimedOut cuts the requests at
// once to what the provider can answer in time. Each run of Succeeded gives some of it back. The
// breaker of a budget is in one of these states; TimedOut counts as Failed there:
//
//	closed ──▶ open after Failed many times in a row ──▶ half-open after a while: one request tries
//	  ▲                       ▲───────────── Failed ────────────┤  (Abandoned, Unsent: another tries)
//	  ╰───────────────────────────────── else ──────────────────╯
//
// While the breaker is open, requests to a provider that has worked stay in the queue, and others
// end with ErrBreakerOpen. An outage bounds that wait:
//
//	answering ── Throttled, Overloaded, TimedOut, Failed ──▶ outage ── Succeeded ──▶ …
//	                            a run has waited in it for long: ErrOutage, or ErrBreakerOpen
package ratelimit

import (
	"context"
	"errors"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

var (
	// ErrSpendLimit means that the sweep has reached its limit of tokens or money.
	ErrSpendLimit = errors.New("spend limit reached")
	// ErrBreakerOpen means that the key's circuit breaker is open, and the provider has never
	// succeeded or the run has waited for MaxWait.
	ErrBreakerOpen = errors.New("circuit breaker is open")
	// ErrQueueFull means that too many requests of the sweep wait for the budget.
	ErrQueueFull = errors.New("too many requests wait for the provider")
	// ErrOutage means that the provider has answered nothing for MaxWait.
	ErrOutage = errors.New("provider answers nothing")
)

// Recordings reads the cost of recorded turns, as bus.Recordings does.
type Recordings interface {
	// Spending sums the cost of a sweep's turns up to a revision.
	Spending(ctx context.Context, sweepID string) (sum bus.Cost, revision uint64, err error)
	// FollowSpending calls visit with the cost of each turn that is recorded after a revision, and
	// with its recorder, until ctx is done.
	FollowSpending(ctx context.Context, sweepID string, revision uint64, visit func(by string, added bus.Cost)) error
}

// Key identifies a budget: a provider and the account at it.
type Key struct {
	// Provider is the account name in player names, e.g. openai.
	Provider string
	// Fingerprint distinguishes keys and addresses of the provider. It does not contain a key.
	Fingerprint string
}

// Cost is an amount of tokens and of money in millionths of a US dollar. In a limit, 0 means no
// limit.
type Cost struct {
	Tokens, Micros int64
}

// Plus returns the sum.
func (c Cost) Plus(o Cost) Cost { return Cost{c.Tokens + o.Tokens, c.Micros + o.Micros} }

// SweepRound is a sweep in one of its rounds. Each round waits anew during an outage.
type SweepRound struct {
	// Sweep is empty for requests whose spending is not counted.
	Sweep string
	Round int32
}

// Request describes a request that wants to begin.
type Request struct {
	Key Key
	// Run is the run of the request.
	Run SweepRound
	// Model is the model's name. Actual costs of its requests correct later estimates.
	Model string
	// Estimate is the expected cost, without money if the price is unknown.
	Estimate Cost
	// Limit is the spend limit of the sweep. The most recent value applies.
	Limit Cost
}

// Class is the outcome class of a request, as a metric label.
type Class string

// The outcome classes.
const (
	// Succeeded: the provider answered.
	Succeeded Class = "succeeded"
	// Rejected: the provider refused this particular request. The provider works.
	Rejected Class = "rejected"
	// Throttled: the provider enforces its rate limit (429).
	Throttled Class = "throttled"
	// Overloaded: the provider is overloaded (503, 529) or asks for a long wait.
	Overloaded Class = "overloaded"
	// TimedOut: the provider did not answer in time.
	TimedOut Class = "timed_out"
	// Failed: the provider or the network failed.
	Failed Class = "failed"
	// Abandoned: the gateway gave up. The request may have cost something.
	Abandoned Class = "abandoned"
	// Unsent: the request was not sent.
	Unsent Class = "unsent"
)

// refused reports whether the provider refused the request for its load.
func (c Class) refused() bool { return c == Throttled || c == Overloaded }

// Outcome is the result of a request.
type Outcome struct {
	Class Class
	// Cost is what the provider counted, at its price. 0 tokens means that the provider did not report
	// them.
	Cost Cost
	// Charged: the provider may charge for the request although it failed.
	Charged bool
	// RetryAfter is the wait that the provider asks for, 0 if it does not say. It applies to the whole
	// budget.
	RetryAfter time.Duration
	// Reason is the message of the provider or the network, without keys. All users of the budget may
	// see it.
	Reason string
}
