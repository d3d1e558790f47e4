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

// sweepSpend is what a sweep with a limit spends: what this replica knows of its own requests, and
// of others' what they have recorded. All but loading is under the limiter's lock. A sweepSpend
// that is nil counts nothing.
type sweepSpend struct {
	limiter *Limiter
	sweep   string
	loading sync.Mutex
	loaded  bool
	cancel  context.CancelFunc // of following what others record

	limit    Cost
	spent    Cost
	expected Cost // of the requests that run here
	running  int
	active   time.Time
}

// sweepSpend returns what a sweep spends, read from the recorded turns if nothing is known yet.
func (l *Limiter) sweepSpend(ctx context.Context, sweep string) (*sweepSpend, error) {
	l.mu.Lock()
	now := time.Now()
	s := l.spends[sweep]
	if s == nil {
		for name, old := range l.spends {
			if old.running == 0 && now.Sub(old.active) > forgotten {
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

// load reads what was spent, and follows what others spend from then on.
func (s *sweepSpend) load(ctx context.Context) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loaded {
		return nil
	}
	spent, revision, err := s.limiter.recordings.Spent(ctx, s.sweep)
	if err != nil {
		return err
	}
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	s.spent, s.loaded = Cost(spent), true
	ctx, s.cancel = context.WithCancel(s.limiter.ctx)
	s.limiter.following.Go(func() { s.follow(ctx, revision) })
	return nil
}

// follow counts what other replicas record.
func (s *sweepSpend) follow(ctx context.Context, revision uint64) {
	err := s.limiter.recordings.FollowSpent(ctx, s.sweep, revision, func(by string, added bus.Spent) {
		if by != s.limiter.replica {
			s.limiter.mu.Lock()
			defer s.limiter.mu.Unlock()
			s.spent = s.spent.Plus(Cost(added))
		}
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	s.limiter.logger.Warn("what others spend is read anew", "sweep", s.sweep, "error", err)
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	delete(s.limiter.spends, s.sweep) // the next request reads all of it
}

// admits says whether a request fits into what is left now; if not, it does when those that run
// have ended. The error is ErrSpent.
func (s *sweepSpend) admits(p *Permit) (now bool, err error) {
	if s == nil {
		return true, nil
	}
	least := Cost{1, 1} // whatever it needs
	if s.running == 0 {
		least = Cost{max(p.expected.Tokens, 1), max(p.expected.Micros, 1)}
	}
	if !s.spent.Plus(least).within(s.limit) {
		return false, exceeded(s.spent, s.limit, least)
	}
	return p.usage.known() && s.spent.Plus(s.expected).Plus(p.expected).within(s.limit), nil
}

// begin and end follow a request that runs.
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
	for _, b := range s.limiter.budgets { // where others of the sweep may wait for this
		if b != p.budget {
			b.dispatch(now)
		}
	}
}

// within says whether c exceeds limit in nothing.
func (c Cost) within(limit Cost) bool {
	return (limit.Tokens == 0 || c.Tokens <= limit.Tokens) && (limit.Micros == 0 || c.Micros <= limit.Micros)
}

// exceeded says which limit leaves no room for what the next request needs, and which flag helps.
func exceeded(spent, limit, need Cost) error {
	if limit.Tokens > 0 && spent.Tokens+need.Tokens > limit.Tokens {
		text := func(n int64) string { return fmt.Sprint(n, " tokens") }
		return short(spent.Tokens, limit.Tokens, need.Tokens, text, "--spend-tokens")
	}
	return short(spent.Micros, limit.Micros, need.Micros, pricing.Dollars, "--spend-usd")
}

func short(spent, limit, need int64, text func(int64) string, flag string) error {
	next := ""
	if spent < limit {
		next = ", and the next request needs about " + text(need)
	}
	return fmt.Errorf("%w: %s of %s%s: raise %s", ErrSpent, text(spent), text(limit), next, flag)
}

const (
	// enough is how many requests of a model show what it uses. Until then no more than that run at
	// once whose sweep has a limit.
	enough = 8
	// horizon is the number of requests, about, that usage sums.
	horizon = 256
	// minRatio is the smallest part of an estimate that a request is expected to use: a model that
	// says little at first may say more later, and what is expected bounds what begins.
	minRatio = 0.25
)

// usage is what the requests to one model use beside their estimates. Estimates know nothing of how
// long a model reasons: thousands of requests that begin by them could exceed a limit many times.
type usage struct {
	running, ended  int
	used, estimated Cost // by the last requests whose provider said what they used
}

// known says whether one more request may run: not while too many do and nothing is known.
func (u *usage) known() bool { return u.ended >= enough || u.running < enough }

// expect corrects an estimate.
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

// end takes in how a request ended.
func (u *usage) end(estimate Cost, o Outcome) {
	u.running--
	if o.Class == Succeeded || o.Class == Abandoned {
		u.ended++
	}
	if o.Cost.Tokens > 0 {
		u.used, u.estimated = u.used.fade().Plus(o.Cost), u.estimated.fade().Plus(estimate)
	}
}

// fade takes off what one request in a horizon is.
func (c Cost) fade() Cost { return Cost{c.Tokens - c.Tokens/horizon, c.Micros - c.Micros/horizon} }
