package ratelimit

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

// sweepSpend is what a sweep with a limit spends: what this replica knows of its own requests, and
// of others' what they have recorded. All but loading is under the limiter's lock. A sweepSpend
// that is nil counts nothing.
type sweepSpend struct {
	g       *Limiter
	sweep   string
	loading sync.Mutex
	loaded  bool
	cancel  context.CancelFunc // of following what others record

	limit   Spend
	spent   Spend
	held    Spend // estimates of the requests that run here
	running int
	active  time.Time
}

// sweepSpend returns what a sweep spends, read from the recorded turns if nothing is known yet.
func (g *Limiter) sweepSpend(ctx context.Context, sweep string) (*sweepSpend, error) {
	g.mu.Lock()
	now := time.Now()
	p := g.spends[sweep]
	if p == nil {
		p = &sweepSpend{g: g, sweep: sweep}
		g.spends[sweep] = p
		for name, old := range g.spends {
			if old.running == 0 && !old.active.IsZero() && now.Sub(old.active) > forgotten {
				old.cancel()
				delete(g.spends, name)
			}
		}
	}
	p.active = now
	g.mu.Unlock()
	return p, p.load(ctx)
}

// load reads what was spent, and follows what others spend from then on.
func (p *sweepSpend) load(ctx context.Context) error {
	p.loading.Lock()
	defer p.loading.Unlock()
	if p.loaded {
		return nil
	}
	sum, revision, err := p.g.recordings.Spent(ctx, p.sweep)
	if err != nil {
		return err
	}
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.g.closed {
		return ErrClosed
	}
	p.spent, p.loaded = p.spent.Plus(Spend(sum)), true
	following, cancel := context.WithCancel(p.g.ctx)
	p.cancel = cancel
	p.g.following.Go(func() { p.follow(following, revision) })
	return nil
}

// follow counts what other replicas record.
func (p *sweepSpend) follow(ctx context.Context, revision uint64) {
	err := p.g.recordings.FollowSpent(ctx, p.sweep, revision, func(by string, added bus.Spent) {
		if by == p.g.replica {
			return
		}
		p.g.mu.Lock()
		defer p.g.mu.Unlock()
		p.spent = p.spent.Plus(Spend(added))
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	p.g.logger.Warn("what others spend is read anew", "sweep", p.sweep, "error", err)
	p.g.mu.Lock()
	delete(p.g.spends, p.sweep) // the next request reads all of it
	p.g.mu.Unlock()
}

// admits says whether a request fits into what is left now; if not, it does when those that run
// have ended. The error is ErrSpent.
func (p *sweepSpend) admits(w *waiter) (now bool, err error) {
	if p == nil {
		return true, nil
	}
	expected := w.average.expect(w.cost)
	if p.spent.reaches(p.limit) || p.running == 0 && !p.spent.Plus(expected).within(p.limit) {
		return false, exceeded(p.spent, p.limit, expected)
	}
	return w.average.begins() && p.spent.Plus(p.held).Plus(expected).within(p.limit), nil
}

// begin and end follow a request that runs.
func (p *sweepSpend) begin(w *waiter) {
	if p != nil {
		p.held = p.held.Plus(w.held)
		p.running++
	}
}

func (p *sweepSpend) end(now time.Time, w *waiter, cost Spend) {
	if p == nil {
		return
	}
	p.held = p.held.minus(w.held)
	p.spent = p.spent.Plus(cost)
	p.running--
	p.active = now
	for _, b := range p.g.budgets { // where others of the sweep may wait for this
		if b != w.budget {
			b.dispatch(now)
		}
	}
}

// exceeded says that a limit is reached, or that the next request does not fit into what is left,
// and which flag helps.
func exceeded(spent, limit, need Spend) error {
	said := fmt.Sprintf("%s of %s", spent.limitedBy(limit), limit.limitedBy(limit))
	if !spent.reaches(limit) && !spent.Plus(need).within(limit) {
		said += ", and the next request needs about " + need.limitedBy(limit)
	}
	short := func(spent, limit, need int64) bool { return limit > 0 && (spent >= limit || sum(spent, need) > limit) }
	var flags []string
	if short(spent.Tokens, limit.Tokens, need.Tokens) {
		flags = append(flags, "--spend-tokens")
	}
	if short(spent.Micros, limit.Micros, need.Micros) {
		flags = append(flags, "--spend-usd")
	}
	if len(flags) > 0 {
		said += ": raise " + strings.Join(flags, " and ")
	}
	return fmt.Errorf("%w: %s", ErrSpent, said)
}
