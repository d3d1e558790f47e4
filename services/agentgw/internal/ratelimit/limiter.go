package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// forgotten is the time without a request after which a budget begins anew.
const forgotten = 10 * time.Minute

// Limiter lets requests begin. Safe for concurrent use; whoever makes it closes it.
type Limiter struct {
	cfg        Config
	recordings Recordings
	replica    string
	logger     *slog.Logger
	meters     *meters

	ctx       context.Context // of those that follow what sweeps spend
	cancel    context.CancelFunc
	following sync.WaitGroup

	mu      sync.Mutex
	budgets map[Key]*budget
	spends  map[string]*sweepSpend
}

// New returns a limiter of this replica, which counts what other replicas spend by what they
// record. The error is that of the configuration or of the metrics.
func New(cfg Config, recordings Recordings, replica string, logger *slog.Logger) (*Limiter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Limiter{
		cfg: cfg, recordings: recordings, replica: replica, logger: logger,
		budgets: make(map[Key]*budget), spends: make(map[string]*sweepSpend),
	}
	var err error
	if l.meters, err = newMeters(l); err != nil {
		return nil, fmt.Errorf("metrics of the rate limiter: %w", err)
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l, nil
}

// Close ends what the limiter does by itself. Requests that run may still call Done.
func (l *Limiter) Close() error {
	l.cancel()
	l.following.Wait()
	return l.meters.watching.Unregister()
}

// Permit is a request that waits for its budget, and the permission for it once it has begun.
type Permit struct {
	budget  *budget
	request Request
	usage   *usage
	spend   *sweepSpend   // nil without a limit
	ready   chan struct{} // closed when the request begins, or when err is set
	err     error

	began    time.Time
	expected Cost        // what it is expected to cost
	tokens   int64       // part of that which it takes from the budget: no more than that ever has
	result   func(error) // tells the breaker how it ended
}

// Acquire waits until a request may begin. Whoever gets a permit calls Done. The error is ErrSpent,
// ErrOutage, ErrBreakerOpen or ErrQueueFull, or that of ctx or of the recordings.
func (l *Limiter) Acquire(ctx context.Context, r Request) (*Permit, error) {
	asked := time.Now()
	p, err := l.enqueue(ctx, r)
	if err == nil {
		select {
		case <-p.ready:
			err = p.err
		case <-ctx.Done():
			err = l.leave(p, ctx.Err())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("budget of %s: %w", r.Key.Provider, err)
	}
	l.meters.waits.Record(ctx, time.Since(asked).Seconds(), p.budget.labels)
	return p, nil
}

// enqueue puts a request into its budget's queue and lets begin what can.
func (l *Limiter) enqueue(ctx context.Context, r Request) (*Permit, error) {
	p := &Permit{request: r, ready: make(chan struct{})}
	if r.Run.Sweep != "" && r.Limit != (Cost{}) {
		var err error
		if p.spend, err = l.sweepSpend(ctx, r.Run.Sweep); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.spend != nil {
		p.spend.limit = r.Limit
	}
	now := time.Now()
	p.budget = l.budget(now, r.Key)
	p.usage = p.budget.usageOf(r.Model)
	return p, p.budget.push(now, p)
}

// leave ends the wait of a request whose caller has gone, and says what it waited for. nil means
// that it has begun by then.
func (l *Limiter) leave(p *Permit, gone error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := p.budget
	waiting := b.queue.n
	if !b.queue.remove(p) {
		return p.err
	}
	b.dispatch(time.Now())
	return fmt.Errorf("%d requests wait for their turn%s: %w", waiting, b.outage.lastReason(), gone)
}

// Done says how the request ended, and returns what it cost. It is called once.
func (p *Permit) Done(o Outcome) Cost {
	l := p.budget.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	cost := o.Cost
	if cost.Tokens == 0 && (o.Class == Succeeded || o.Class == Abandoned || o.Charged) {
		cost = p.expected
	}
	now := time.Now()
	p.spend.end(now, p, cost)
	p.budget.end(now, p, o, cost)
	return cost
}

// budget returns the budget of a key. One that was not used for long begins anew.
func (l *Limiter) budget(now time.Time, key Key) *budget {
	if b := l.budgets[key]; b != nil && !b.idle(now) {
		return b
	}
	maps.DeleteFunc(l.budgets, func(_ Key, b *budget) bool { return b.idle(now) })
	b := newBudget(l, key)
	l.budgets[key] = b
	return b
}

// InOutage says whether a provider has answered no request under a key since a time when it had
// refused or failed one. If so, further refusals say nothing about the requests that they came to.
func (l *Limiter) InOutage(key Key, since time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.budgets[key]
	return b != nil && !b.outage.began.IsZero() && !b.outage.began.After(since)
}
