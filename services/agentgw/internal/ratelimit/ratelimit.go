// Package ratelimit decides when a request to a model provider may begin. Each provider's key has
// a budget over all rollouts: requests and tokens per minute, and requests at once. It adapts to
// refusals, is shared fairly between sweeps, and rests when the provider asks for it. Each sweep
// may have a limit of what it spends. A key belongs to one replica of the gateway at a time, so
// that a budget is nobody else's.
//
// A request passes these states; an error ends it while it is queued.
//
//	        its sweep's turn, room in the budget, fits into the sweep's limit
//	queued ───────────────────────────────────────────────────────────────────▶ running ──▶ ended
//	  ErrQueue, ErrSpent, ErrUnpriced, ErrPaused, ErrOutage, ErrOpen, ErrAway
//
// A budget is cut to half by Throttled and Overloaded, and pauses; it grows again with each run of
// Succeeded. Its breaker is one of these:
//
//	closed ──▶ open after Failed many times in a row ──▶ half-open after a while: one request tries
//	  ▲                       ▲───────────── Failed ────────────┤
//	  ╰───────────────────────────────── else ──────────────────╯
package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

var (
	// ErrSpent says that the sweep has reached its limit of tokens or money: nothing more of it may
	// begin.
	ErrSpent = errors.New("spend limit reached")
	// ErrUnpriced says that the sweep may spend some money, and that nobody knows what the model
	// costs: nothing more of it may begin.
	ErrUnpriced = errors.New("spend limit cannot be kept")
	// ErrOpen says that the provider only fails, and is left alone for a while.
	ErrOpen = errors.New("provider is left alone")
	// ErrAway says that the provider has worked and fails now: it may come back.
	ErrAway = errors.New("provider is away")
	// ErrPaused says that the provider asks to wait for longer than the caller can.
	ErrPaused = errors.New("provider asks to wait")
	// ErrQueue says that too many requests wait for the budget already.
	ErrQueue = errors.New("too many requests wait for the provider")
	// ErrOutage says that the provider has answered nothing for as long as a run waits for that.
	ErrOutage = errors.New("provider answers nothing")
	// ErrClosed says that the limiter was closed.
	ErrClosed = errors.New("rate limiter is closed")
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
	// Fingerprint is what Fingerprint returns.
	Fingerprint string
}

// Fingerprint tells keys of a provider apart without holding one. The base URL is part of it:
// servers count for themselves.
func Fingerprint(baseURL, secret string) string {
	sum := sha256.Sum256([]byte(baseURL + "\x00" + secret))
	return hex.EncodeToString(sum[:8])
}

// Request is a request that wants to begin.
type Request struct {
	Key Key
	// Sweep is whose request it is; empty if nobody's spending is to be counted.
	Sweep string
	// Round is the round of the sweep. What is played again waits anew for a provider that answers
	// nothing.
	Round int32
	// Model is the model's name, for its price.
	Model string
	// Metered says that somebody sends a bill, so that a model without a known price is not one
	// that costs nothing.
	Metered bool
	// InputTokens and OutputTokens are estimates.
	InputTokens, OutputTokens int64
	// Limit is what the sweep may spend in all. The last one given counts.
	Limit Spend
}

// Class says how a request ended.
type Class int

// The classes of a request's end.
const (
	// Succeeded says that the provider answered.
	Succeeded Class = iota
	// Rejected says that the provider refused this request for itself: it works.
	Rejected
	// Throttled says that the provider refuses requests because there are too many (429).
	Throttled
	// Overloaded says that the provider has too much to do (503, 529), or that it asks for a long
	// wait.
	Overloaded
	// Failed says that the provider or the network failed.
	Failed
	// Abandoned says that we gave up: nothing is known but that it may have cost something.
	Abandoned
	// Unsent says that the request was not sent.
	Unsent
)

// ClassOf returns the class of an HTTP status, or of status 0 if no answer came.
func ClassOf(status int) Class {
	const overloaded = 529 // Anthropic's
	switch {
	case status == http.StatusTooManyRequests:
		return Throttled
	case status == http.StatusServiceUnavailable || status == overloaded:
		return Overloaded
	case status == 0 || status == http.StatusRequestTimeout || status >= http.StatusInternalServerError:
		return Failed
	case status >= http.StatusMultipleChoices: // nobody follows
		return Rejected
	}
	return Succeeded
}

// String returns the word for metrics.
func (c Class) String() string {
	return [...]string{"succeeded", "rejected", "throttled", "overloaded", "failed", "abandoned", "unsent"}[c]
}

// refused says that the provider has no room, or asks for a pause.
func (c Class) refused() bool { return c == Throttled || c == Overloaded }

// Outcome is how a request ended.
type Outcome struct {
	Class Class
	// Usage is what the provider counted, nil if it did not say.
	Usage *agentgwv1.Usage
	// Charged says that the provider may charge for the request although it failed.
	Charged bool
	// RetryAfter is how long the provider asks to wait, 0 if it does not say. It holds for the
	// whole budget.
	RetryAfter time.Duration
	// Reason is what the provider or the network said, without keys: it may be shown to all who use
	// the budget.
	Reason string
}

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
