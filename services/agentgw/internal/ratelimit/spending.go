package ratelimit

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/pricing"
)

// sweepSpend is the spending of a sweep with a limit: of this replica's requests, and of the
// recorded turns of others. The limiter's lock protects all but loading and loaded. A nil
// sweepSpend counts nothing.
type sweepSpend struct {
	limiter *Limiter
	sweep   string
	loading sync.Mutex
	loaded  bool
	cancel  context.CancelFunc // ends follow

	limit    Cost
	spent    Cost
	expected Cost // of running requests of this replica
	running  int
	active   time.Time
}

// sweepSpend returns the spending of a sweep, loaded from the recorded turns at first use.
func (l *Limiter) sweepSpend(ctx context.Context, sweep string) (*sweepSpend, error) {
	l.mu.Lock()
	now := time.Now()
	s := l.spends[sweep]
	if s == nil {
		for name, old := range l.spends {
			if old.running == 0 && now.Sub(old.active) > idleTimeout {
				old.cancel()
				delete(l.spends, name)
			}
		}
		s = &sweepSpend{limiter: l, sweep: sweep, active: now, cancel: func() {}}
		l.spends[sweep] = s
	}
	s.active = now
	l.mu.Unlock()
	return s, s.load(ctx)
}

// Forget drops what a deleted sweep has spent. Another sweep may have its id later. A nil limiter
// knows of none.
func (l *Limiter) Forget(sweep string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.spends[sweep]; s != nil {
		s.cancel()
		delete(l.spends, sweep)
	}
}

// load reads the spending so far, and starts to follow that of other replicas.
func (s *sweepSpend) load(ctx context.Context) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loaded {
		return nil
	}
	spent, revision, err := s.limiter.recordings.Spending(ctx, s.sweep)
	if err != nil {
		return err
	}
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	s.spent, s.loaded = Cost(spent), true
	ctx, s.cancel = context.WithCancel(s.limiter.ctx)
	s.limiter.followers.Go(func() { s.follow(ctx, revision) })
	return nil
}

// follow adds the spending that other replicas record.
func (s *sweepSpend) follow(ctx context.Context, revision uint64) {
	err := s.limiter.recordings.FollowSpending(ctx, s.sweep, revision, func(by string, added bus.Cost) {
		if by != s.limiter.replica {
			s.limiter.mu.Lock()
			defer s.limiter.mu.Unlock()
			s.spent = s.spent.Plus(Cost(added))
		}
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	s.limiter.logger.Warn("reload sweep spending", "sweep", s.sweep, "error", err)
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	delete(s.limiter.spends, s.sweep) // the next request loads it again
}

// admits reports whether a request fits into the rest of the limit now. If not, it may fit when
// running requests have ended. The error is ErrSpendLimit.
func (s *sweepSpend) admits(p *Permit) (now bool, err error) {
	if s == nil {
		return true, nil
	}
	minCost := Cost{1, 1} // any request needs at least that
	if s.running == 0 {
		minCost = Cost{max(p.expected.Tokens, 1), max(p.expected.Micros, 1)}
	}
	if !s.spent.Plus(minCost).fitsIn(s.limit) {
		return false, spendError(s.spent, s.limit, minCost)
	}
	return p.usage.mayRun() && s.spent.Plus(s.expected).Plus(p.expected).fitsIn(s.limit), nil
}

// begin and end track a running request.
func (s *sweepSpend) begin(p *Permit) {
	if s != nil {
		s.expected = s.expected.Plus(p.expected)
		s.running++
	}
}

func (s *sweepSpend) end(now time.Time, p *Permit, cost Cost) {
	if s == nil {
		return
	}
	s.expected = Cost{s.expected.Tokens - p.expected.Tokens, s.expected.Micros - p.expected.Micros}
	s.spent = s.spent.Plus(cost)
	s.running--
	s.active = now
	for _, b := range s.limiter.budgets { // requests of the sweep for other keys may wait for this one
		if b != p.budget {
			b.dispatch(now)
		}
	}
}

// shareOf returns the largest share that c has used of a part of limit.
func (c Cost) shareOf(limit Cost) (share float64) {
	if limit.Tokens > 0 {
		share = float64(c.Tokens) / float64(limit.Tokens)
	}
	if limit.Micros > 0 {
		share = max(share, float64(c.Micros)/float64(limit.Micros))
	}
	return share
}

// fitsIn reports whether c exceeds no part of limit.
func (c Cost) fitsIn(limit Cost) bool {
	return (limit.Tokens == 0 || c.Tokens <= limit.Tokens) && (limit.Micros == 0 || c.Micros <= limit.Micros)
}

// spendError names the exhausted limit, the next request's need and the flag that raises the limit.
func spendError(spent, limit, need Cost) error {
	if limit.Tokens > 0 && spent.Tokens+need.Tokens > limit.Tokens {
		text := func(n int64) string { return fmt.Sprint(n, " tokens") }
		return spendErrorText(spent.Tokens, limit.Tokens, need.Tokens, text, "--spend-tokens")
	}
	return spendErrorText(spent.Micros, limit.Micros, need.Micros, pricing.FormatDollars, "--spend-usd")
}

func spendErrorText(spent, limit, need int64, text func(int64) string, flag string) error {
	next := ""
	if spent < limit {
		next = ", and the next request needs about " + text(need)
	}
	return fmt.Errorf("%w: %s of %s%s: raise %s", ErrSpendLimit, text(spent), text(limit), next, flag)
}

const (
	// minSamples is how many requests of a model reveal its usage. Until then a sweep with a limit
	// runs no more than that at once.
	minSamples = 8
	// horizon is the approximate number of requests in the moving sums of usage.
	horizon = 256
	// minRatio bounds the correction of an estimate from below. A model with short answers at first
	// may give longer ones later, and estimates bound what begins.
	minRatio = 0.25
)

// usage compares the actual cost of requests to a model with the estimates. Estimates do not know
// how long a model reasons: thousands of concurrent requests could exceed a limit many times.
type usage struct {
	running, ended  int
	used, estimated Cost // moving sums over requests with reported usage
}

// mayRun reports whether one more request may run: not while minSamples run and fewer have ended.
func (u *usage) mayRun() bool { return u.ended >= minSamples || u.running < minSamples }

// expect returns a corrected estimate.
func (u *usage) expect(estimate Cost) Cost {
	return Cost{
		Tokens: corrected(estimate.Tokens, u.used.Tokens, u.estimated.Tokens),
		Micros: corrected(estimate.Micros, u.used.Micros, u.estimated.Micros),
	}
}

func corrected(estimate, used, estimated int64) int64 {
	if estimated == 0 {
		return estimate
	}
	return int64(math.Ceil(float64(estimate) * max(float64(used)/float64(estimated), minRatio)))
}

// end records the outcome of a request.
func (u *usage) end(estimate Cost, o Outcome) {
	u.running--
	if o.Class == Succeeded || o.Class == Abandoned {
		u.ended++
	}
	if o.Cost.Tokens > 0 {
		u.used, u.estimated = u.used.decay().Plus(o.Cost), u.estimated.decay().Plus(estimate)
	}
}

// decay subtracts one part in horizon.
func (c Cost) decay() Cost { return Cost{c.Tokens - c.Tokens/horizon, c.Micros - c.Micros/horizon} }
