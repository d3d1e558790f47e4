// Package ratelimit decides when a request to a model provider may begin. Each provider's key has
// one budget over all rollouts and all replicas of the gateway: requests and tokens per minute and
// requests at once. Budgets adapt to refusals, are shared fairly between sweeps, and rest when the
// provider asks for it; each sweep may have a limit of what it spends.
//
// Replicas share a budget through a document that they change by compare-and-swap. Each takes a
// part of it for a moment, so that most requests begin without asking anybody.
package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
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

// Store keeps the documents that replicas share; bus.Ledger is one.
type Store interface {
	// Read returns a document and its revision, nil and 0 if there is none.
	Read(ctx context.Context, name string) (raw []byte, revision uint64, err error)
	// Write stores a document if the revision is still its last, else it fails with bus.ErrFenced.
	Write(ctx context.Context, name string, raw []byte, revision uint64) error
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

// Limiter lets requests begin. Safe for concurrent use; whoever makes it closes it.
type Limiter struct {
	cfg    Config
	store  Store
	prices *pricing.Table
	logger *slog.Logger
	meters *meters

	ctx    context.Context // of the goroutines that keep documents
	stop   context.CancelFunc
	keeper sync.WaitGroup

	mu          sync.Mutex
	closed      bool
	budgets     map[Key]*budget
	sweepSpends map[string]*sweepSpend
	made        int // budgets and sweepSpends: each has a name of its own in the documents
}

// New returns a limiter that shares its budgets with all others on the same store, and counts
// money by a table of prices. The error is that of the configuration or of the metrics.
func New(cfg Config, prices *pricing.Table, store Store, logger *slog.Logger) (*Limiter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	g := &Limiter{
		cfg: cfg, store: store, prices: prices, logger: logger,
		budgets: make(map[Key]*budget), sweepSpends: make(map[string]*sweepSpend),
	}
	var err error
	if g.meters, err = newMeters(g); err != nil {
		return nil, fmt.Errorf("metrics of the limiter: %w", err)
	}
	g.ctx, g.stop = context.WithCancel(context.Background())
	return g, nil
}

// Close gives back what this replica has of the budgets, and fails whoever waits. Requests that are
// on their way may still call Done.
func (g *Limiter) Close() error {
	g.mu.Lock()
	g.closed = true
	for _, b := range g.budgets {
		b.fail(anyone, ErrClosed)
	}
	g.mu.Unlock()
	g.stop()
	g.keeper.Wait()
	if err := g.meters.close(); err != nil {
		return fmt.Errorf("close rate limiter: %w", err)
	}
	return nil
}

// Permit is the permission for one request.
type Permit struct {
	g      *Limiter
	w      *waiter
	second int64 // in which its tokens were taken
	began  time.Time
	done   bool
}

// Acquire waits until a request may begin. Whoever gets a grant calls Done. The error is ErrSpent,
// ErrUnpriced, ErrOutage, ErrOpen, ErrAway, ErrPaused, ErrQueue or ErrClosed, or that of ctx.
func (g *Limiter) Acquire(ctx context.Context, d Request) (*Permit, error) {
	asked := time.Now()
	w, err := g.enqueue(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("budget of %s: %w", d.Key.Provider, err)
	}
	select {
	case <-w.ready:
	case <-ctx.Done():
		if state, left := g.leave(w); left {
			return nil, fmt.Errorf("budget of %s: %s: %w", d.Key.Provider, state, ctx.Err())
		}
	}
	if w.err != nil {
		return nil, fmt.Errorf("budget of %s: %w", d.Key.Provider, w.err)
	}
	g.meters.waited(ctx, w.budget, time.Since(asked))
	return w.grant, nil
}

// enqueue puts a request into its budget's queue and lets begin what can.
func (g *Limiter) enqueue(ctx context.Context, d Request) (*waiter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	b := g.budget(d.Key)
	now := time.Now()
	b.active = now
	w := &waiter{
		budget: b, sweep: d.Sweep, party: party{d.Sweep, d.Round}, ready: make(chan struct{}), cost: g.estimate(d), limit: d.Limit,
	}
	if err := g.account(w, d); err != nil {
		return nil, err
	}
	if err := b.checkOutage(now, w.party); err != nil {
		return nil, err
	}
	var yields *waiter
	if b.queue.n >= g.cfg.Queue {
		if yields = b.queue.surplus(d.Sweep); yields == nil {
			return nil, b.full()
		}
	}
	if now.Before(b.paused) {
		b.held = now
	}
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(b.paused) {
		return nil, fmt.Errorf("%w %s more", ErrPaused, b.paused.Sub(now).Round(time.Second))
	}
	if b.limit.Tokens > 0 {
		w.tokens = min(max(w.expected().Tokens, 1), b.limit.Tokens)
	}
	probe, err := b.breaker.admit(now, b.waits(now, w.party))
	if err != nil {
		return nil, err
	}
	w.probe = probe
	if yields != nil {
		b.fail(func(w *waiter) bool { return w == yields }, b.full())
	}
	b.push(now, w)
	b.dispatch(now)
	return w, nil
}

// account lets a request count in the sweepSpend of its sweep. The error is ErrSpent or
// ErrUnpriced.
func (g *Limiter) account(w *waiter, d Request) error {
	if d.Sweep == "" {
		return nil
	}
	if d.Metered && !w.cost.priced && d.Limit.Micros > 0 && d.Limit.Tokens == 0 {
		return fmt.Errorf("%w: the price of %s is not known: give a table of prices that has it (--agentgw-price-file), or limit tokens too (--spend-tokens)", ErrUnpriced, d.Model)
	}
	w.sweepSpend = g.sweepSpend(d.Sweep)
	w.usageAverage = w.sweepSpend.usageAverage(subject{key: d.Key, model: d.Model})
	return w.sweepSpend.admit(d.Limit)
}

// leave takes out a waiter whose caller has gone, unless it was served by then, and says what it
// waited for.
func (g *Limiter) leave(w *waiter) (state string, left bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.at == nil {
		return "", false
	}
	b, now := w.budget, time.Now()
	state = b.waitsFor(now)
	b.remove(w)
	b.dispatch(now)
	return state, true
}

// Done says how the request ended. Calls after the first do nothing.
func (gr *Permit) Done(o Outcome) {
	gr.g.mu.Lock()
	defer gr.g.mu.Unlock()
	gr.end(time.Now(), o)
}

// end is Done under the lock.
func (gr *Permit) end(now time.Time, o Outcome) {
	if gr.done {
		return
	}
	gr.done = true
	w := gr.w
	if !pricing.Counted(o.Usage) {
		o.Usage = nil
	}
	cost := actual(w.cost, w.held, o)
	gr.g.meters.ended(w.budget, o.Class, cost)
	if w.sweepSpend != nil {
		w.usageAverage.end(w.cost, o)
		w.sweepSpend.spend(w.held, cost)
	}
	w.budget.end(now, gr, o, cost.Tokens)
}

// name returns a name that no other budget or sweepSpend of any replica has.
func (g *Limiter) name() string {
	g.made++
	return g.cfg.Replica + "-" + strconv.Itoa(g.made)
}

// budget returns the budget of a key, made and kept from now on if need be.
func (g *Limiter) budget(key Key) *budget {
	b := g.budgets[key]
	if b == nil {
		b = newBudget(g, key)
		g.budgets[key] = b
		g.keep(b)
	}
	return b
}

// sweepSpend returns the sweepSpend of a sweep, made and kept from now on if need be.
func (g *Limiter) sweepSpend(sweep string) *sweepSpend {
	p := g.sweepSpends[sweep]
	if p == nil {
		p = newSweepSpend(g, sweep)
		g.sweepSpends[sweep] = p
		g.keep(p)
	}
	return p
}
