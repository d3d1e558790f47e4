package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
)

// forgotten is after which time without a request a budget begins anew.
const forgotten = 10 * time.Minute

// Limiter lets requests begin. Safe for concurrent use; whoever makes it closes it.
type Limiter struct {
	cfg        Config
	prices     *pricing.Table
	recordings Recordings
	replica    string
	logger     *slog.Logger
	meters     *meters

	ctx       context.Context // of those that follow what sweeps spend
	cancel    context.CancelFunc
	following sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	budgets map[Key]*budget
	spends  map[string]*sweepSpend
}

// New returns a limiter of this replica that counts money by a table of prices, and what replicas
// have spent by what they have recorded. The error is that of the configuration or of the metrics.
func New(cfg Config, prices *pricing.Table, recordings Recordings, replica string, logger *slog.Logger) (*Limiter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	g := &Limiter{
		cfg: cfg, prices: prices, recordings: recordings, replica: replica, logger: logger,
		budgets: make(map[Key]*budget), spends: make(map[string]*sweepSpend),
	}
	var err error
	if g.meters, err = newMeters(g); err != nil {
		return nil, fmt.Errorf("metrics of the limiter: %w", err)
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g, nil
}

// Close fails whoever waits. Requests that are on their way may still call Done.
func (g *Limiter) Close() error {
	g.mu.Lock()
	g.closed = true
	for _, b := range g.budgets {
		b.fail(anyone, ErrClosed)
		b.sleep()
	}
	g.mu.Unlock()
	g.cancel()
	g.following.Wait()
	if err := g.meters.close(); err != nil {
		return fmt.Errorf("close rate limiter: %w", err)
	}
	return nil
}

// Permit is the permission for one request.
type Permit struct {
	g     *Limiter
	w     *waiter
	began time.Time
	done  bool
	cost  Spend
}

// Acquire waits until a request may begin. Whoever gets a permit calls Done. The error is ErrSpent,
// ErrUnpriced, ErrOutage, ErrOpen, ErrAway, ErrPaused, ErrQueue or ErrClosed, or that of ctx or of
// the recordings.
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
	return w.permit, nil
}

// enqueue puts a request into its budget's queue and lets begin what can.
func (g *Limiter) enqueue(ctx context.Context, d Request) (*waiter, error) {
	w := &waiter{sweep: d.Sweep, party: party{d.Sweep, d.Round}, cost: estimate(g.prices, d), ready: make(chan struct{})}
	if d.Sweep != "" && d.Limit != (Spend{}) {
		if d.Metered && !w.cost.priced && d.Limit.Tokens == 0 {
			return nil, fmt.Errorf("%w: the price of %s is not known: give a table of prices that has it (--agentgw-price-file), or limit tokens too (--spend-tokens)", ErrUnpriced, d.Model)
		}
		var err error
		if w.spend, err = g.sweepSpend(ctx, d.Sweep); err != nil {
			return nil, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.spend != nil {
		w.spend.limit = d.Limit // the last one counts
	}
	w.budget = g.budget(d.Key)
	w.average = w.budget.average(d.Model)
	deadline, _ := ctx.Deadline()
	return w, w.budget.push(time.Now(), deadline, w)
}

// leave takes out a waiter whose caller has gone, unless it was served by then, and says what it
// waited for.
func (g *Limiter) leave(w *waiter) (state string, left bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.at == nil {
		return "", false
	}
	now := time.Now()
	state = w.budget.waitsFor(now)
	w.budget.remove(w)
	w.budget.dispatch(now)
	return state, true
}

// Done says how the request ended, and returns what it cost. Calls after the first only return
// that.
func (p *Permit) Done(o Outcome) Spend {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.done {
		return p.cost
	}
	p.done = true
	if !pricing.Counted(o.Usage) {
		o.Usage = nil
	}
	p.cost = actual(p.w.cost, p.w.held, o)
	now := time.Now()
	p.w.spend.end(now, p.w, p.cost)
	p.w.budget.end(now, p, o)
	return p.cost
}

// budget returns the budget of a key. One that was not used for long begins anew.
func (g *Limiter) budget(key Key) *budget {
	now := time.Now()
	if b := g.budgets[key]; b != nil && !b.idle(now) {
		return b
	}
	maps.DeleteFunc(g.budgets, func(_ Key, b *budget) bool { return b.idle(now) })
	b := newBudget(g, key)
	g.budgets[key] = b
	return b
}

// InOutage says whether a provider has answered no request under a key since a time when it had
// refused or failed one. If so, further refusals say nothing about the requests that they came to.
func (g *Limiter) InOutage(key Key, since time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.budgets[key]
	return b != nil && !b.outage.began.IsZero() && !b.outage.began.After(since)
}
