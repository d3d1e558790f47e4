package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// idleTimeout is the time without a request after which a budget starts over.
const idleTimeout = 10 * time.Minute

// Limiter admits requests to model providers. Safe for concurrent use. The caller of New closes it.
type Limiter struct {
	cfg        Config
	recordings Recordings
	replica    string
	logger     *slog.Logger
	meters     *meters

	ctx       context.Context // of goroutines that follow spending
	cancel    context.CancelFunc
	followers sync.WaitGroup

	mu      sync.Mutex
	budgets map[Key]*budget
	spends  map[string]*sweepSpend
}

// New returns the limiter of this replica. It learns the spending of other replicas from
// recordings. The error is that of the configuration or of the metrics.
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

// Close stops the limiter's goroutines. Permits that are still out may call Done.
func (l *Limiter) Close() error {
	l.cancel()
	l.followers.Wait()
	return l.meters.stop()
}

// Permit is a queued request, and its admission once it has begun.
type Permit struct {
	budget  *budget
	request Request
	usage   *usage
	spend   *sweepSpend   // nil without a limit
	ready   chan struct{} // closed when the request begins or err is set
	err     error

	began time.Time
	// crowded: the request timed out beside more others than its provider can answer in time.
	crowded bool
	// answeredBefore and timedOutBefore are the numbers of the budget's answers and time-outs when the
	// request began.
	answeredBefore, timedOutBefore int

	expected Cost        // estimated cost
	tokens   int64       // taken from the token bucket; at most its limit
	result   func(error) // reports the outcome to the breaker
}

// Acquire waits until a request may begin. The caller calls Done on the permit. The error is
// ErrSpendLimit, ErrOutage, ErrBreakerOpen or ErrQueueFull, or that of ctx or of the recordings.
func (l *Limiter) Acquire(ctx context.Context, r Request) (*Permit, error) {
	start := time.Now()
	p, err := l.enqueue(ctx, r)
	if err == nil {
		select {
		case <-p.ready:
			err = p.err
		case <-ctx.Done():
			err = l.withdraw(p, ctx.Err())
		}
	}
	if err != nil {
		l.meters.refuse(ctx, r.Key.Provider, err)
		return nil, fmt.Errorf("budget of %s: %w", r.Key.Provider, err)
	}
	l.meters.waits.Record(ctx, time.Since(start).Seconds(), p.budget.labels)
	return p, nil
}

// enqueue queues a request and dispatches.
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

// withdraw removes a request whose caller is gone, and returns why it waited. It returns nil if the
// request has begun meanwhile.
func (l *Limiter) withdraw(p *Permit, cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := p.budget
	waiting := b.queue.n
	if !b.queue.remove(p) {
		return p.err
	}
	b.dispatch(time.Now())
	return fmt.Errorf("%d requests wait for their turn%s: %w", waiting, b.outage.lastReason(), cause)
}

// Done reports the outcome of the request and returns its cost. Call it exactly once. A nil permit
// has no budget.
func (p *Permit) Done(o Outcome) Cost {
	if p == nil {
		return Cost{}
	}
	l := p.budget.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	cost := o.Cost
	if cost.Tokens == 0 && (o.Class == Succeeded || o.Class == Abandoned || o.Charged) {
		cost = p.expected
	}
	now := time.Now()
	p.spend.end(now, p, cost)
	p.budget.end(now, p, o)
	return cost
}

// Crowded reports whether a request timed out because its provider answered others in that time,
// and can answer no more. The next one may be answered. Call it after Done.
func (p *Permit) Crowded() bool { return p != nil && p.crowded }

// budget returns the budget of a key, and drops idle ones.
func (l *Limiter) budget(now time.Time, key Key) *budget {
	if b := l.budgets[key]; b != nil && !b.idle(now) {
		return b
	}
	maps.DeleteFunc(l.budgets, func(_ Key, b *budget) bool { return b.idle(now) })
	b := newBudget(l, key)
	l.budgets[key] = b
	return b
}

// InOutage reports whether a provider has answered no request under a key since a time at which it
// had refused or failed one. If so, further refusals say nothing about the individual requests.
func (l *Limiter) InOutage(key Key, since time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.budgets[key]
	return b != nil && !b.outage.start.IsZero() && !b.outage.start.After(since)
}
