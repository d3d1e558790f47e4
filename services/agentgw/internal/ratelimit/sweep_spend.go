package ratelimit

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// spendPrefix is followed by the sweep in a document's name.
const spendPrefix = "spend."

// sweepSpend is this replica's side of what a sweep spends. All of it is under the limiter's lock.
type sweepSpend struct {
	keeping
	g     *Limiter
	limit Spend
	over  error // the limit is reached

	waiters       int
	held          Spend // estimates of the requests that run
	running       int
	spent         Spend // by requests that ended since the last report
	recent        Spend // estimates of the requests that began since the last report
	reserved      Spend // what running requests and the next ones may spend, and ended ones that are not booked yet
	until         time.Time
	sent          *claim // that may or may not have been booked
	usageAverages map[subject]*usageAverage
}

func newSweepSpend(g *Limiter, sweep string) *sweepSpend {
	p := &sweepSpend{keeping: newKeeping(g, spendPrefix+sweep), g: g, usageAverages: make(map[subject]*usageAverage)}
	p.forget = func() { delete(g.sweepSpends, sweep) }
	p.refuse = func(err error) {
		for _, b := range g.budgets {
			b.fail(p.owns, err)
		}
	}
	return p
}

// owns chooses the sweepSpend's requests.
func (p *sweepSpend) owns(w *waiter) bool { return w.sweepSpend == p }

// usageAverage returns what is known of a model's requests. There are as many as models that play
// in the sweep.
func (p *sweepSpend) usageAverage(of subject) *usageAverage {
	h := p.usageAverages[of]
	if h == nil {
		h = &usageAverage{}
		p.usageAverages[of] = h
	}
	return h
}

// expected is what a request will cost by what others have.
func (w *waiter) expected() Spend {
	if w.usageAverage == nil {
		return w.cost.Spend
	}
	return w.usageAverage.expect(w.cost)
}

// admit takes in the sweep's limit and says whether it is reached.
func (p *sweepSpend) admit(limit Spend) error {
	if limit != p.limit {
		p.limit, p.over, p.reserved = limit, nil, Spend{}
	}
	return p.over
}

// push, left and begin follow a request from when it waits to when it runs. A sweepSpend that is
// nil counts nothing.
func (p *sweepSpend) push(now time.Time) {
	if p != nil {
		p.waiters++
		p.active = now
	}
}

func (p *sweepSpend) left() {
	if p != nil {
		p.waiters--
	}
}

func (p *sweepSpend) begin(w *waiter) {
	w.held = w.expected()
	if p != nil {
		p.held = p.held.plus(w.held)
		p.recent = p.recent.plus(w.held)
		p.running++
		w.usageAverage.running++
	}
}

// covers says whether a request may begin. If it has to be found out, it asks.
func (p *sweepSpend) covers(now time.Time, w *waiter) bool {
	if p == nil || p.limit == (Spend{}) {
		return true
	}
	if !w.usageAverage.begins() {
		return false // one of those that run comes first
	}
	used := p.held.plus(p.spent).plus(w.expected())
	if p.sent != nil {
		used = used.plus(p.sent.spent)
	}
	if !now.After(p.until) && (p.limit.Tokens == 0 || used.Tokens <= p.reserved.Tokens) && (p.limit.Micros == 0 || used.Micros <= p.reserved.Micros) {
		return true
	}
	p.ask()
	return false
}

// spend books that a request ended.
func (p *sweepSpend) spend(estimate, actual Spend) {
	p.held = p.held.minus(estimate)
	p.running--
	p.spent = p.spent.plus(actual)
	p.active = time.Now()
}

// account is the document that the replicas share of what a sweep spends.
type account struct {
	At       int64              `json:"at"`
	Spent    Spend              `json:"spent"`
	Replicas map[string]reserve `json:"replicas,omitempty"`
}

// reserve is what one replica may spend. If the replica dies it is free again after a while.
type reserve struct {
	Seq uint64 `json:"seq"`
	// Got is the answer to the last claim. Reserved is what is kept for the replica: that, or what
	// the answer before left.
	Got      Spend `json:"got"`
	Reserved Spend `json:"reserved"`
	Over     bool  `json:"over,omitempty"`
	Expires  int64 `json:"expires"`
}

// claim is what a replica tells: what was spent, what running requests may spend, what the next one
// needs and all want.
type claim struct {
	replica           string
	seq               uint64
	lease             int64 // milliseconds
	last              bool
	spent, held, want Spend
	need              Spend // zero if nobody waits
}

// decodeAccount reads a stored account; of no bytes it makes a new one.
func decodeAccount(raw []byte) (*account, error) {
	a := &account{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, a); err != nil {
			return nil, fmt.Errorf("read spending: %w", err)
		}
	}
	if a.Replicas == nil {
		a.Replicas = make(map[string]reserve)
	}
	return a, nil
}

// settle books a claim and returns what the replica may spend. A claim that was booked before gets
// what it got.
func (a *account) settle(now int64, limit Spend, c claim) reserve {
	a.follow(now)
	if known, ok := a.Replicas[c.replica]; ok && known.Seq == c.seq {
		return known
	}
	a.Spent = a.Spent.plus(c.spent)
	var others, before Spend
	if known := a.Replicas[c.replica]; known.Expires >= a.At {
		before = known.Got.minus(c.spent)
	}
	for name, r := range a.Replicas {
		switch {
		case r.Expires < a.At-forget:
			delete(a.Replicas, name)
		case name != c.replica && r.Expires >= a.At:
			others = others.plus(r.Reserved)
		}
	}
	free := func(limit, spent, others int64) int64 {
		if limit == 0 {
			return math.MaxInt64
		}
		return limit - spent - others
	}
	got := reserve{Seq: c.seq, Expires: a.At + c.lease, Got: c.held}
	rest := Spend{Tokens: free(limit.Tokens, a.Spent.Tokens, others.Tokens), Micros: free(limit.Micros, a.Spent.Micros, others.Micros)}
	if next := c.held.plus(c.need); next.Tokens <= rest.Tokens && next.Micros <= rest.Micros { // else it would keep from others what it cannot use
		got.Got = Spend{Tokens: min(c.held.Tokens+c.want.Tokens, rest.Tokens), Micros: min(c.held.Micros+c.want.Micros, rest.Micros)}
	}
	alone := others == (Spend{}) && c.held == (Spend{})
	got.Over = a.Spent.reaches(limit) || alone && !a.Spent.plus(c.need).within(limit)
	got.Reserved = Spend{Tokens: max(got.Got.Tokens, before.Tokens), Micros: max(got.Got.Micros, before.Micros)}
	if c.last {
		got.Got, got.Reserved, got.Expires = Spend{}, Spend{}, a.At-forget+remember
	}
	a.Replicas[c.replica] = got
	return got
}

// follow moves the account's time on, as the ledger's does.
func (a *account) follow(now int64) {
	back := a.At - now
	if back <= maxSkew {
		a.At = max(a.At, now)
		return
	}
	a.At = now
	for name, r := range a.Replicas {
		r.Expires -= back
		a.Replicas[name] = r
	}
}

// report implements kept.
func (p *sweepSpend) report(now time.Time, last bool) change {
	if p.sent == nil {
		p.seq++
		p.sent = &claim{replica: p.replica, seq: p.seq, spent: p.spent}
		p.spent, p.sentAt = Spend{}, now
	}
	c := p.sent
	c.lease, c.last, c.held, c.need = p.g.cfg.Lease.Milliseconds(), last, p.held, p.next()
	c.want = c.need.plus(p.recent).plus(p.recent)
	p.recent = Spend{}
	told, limit := *c, p.limit
	return func(raw []byte, now int64) ([]byte, func(), error) {
		a, err := decodeAccount(raw)
		if err != nil {
			return nil, nil, err
		}
		got := a.settle(now, limit, told)
		next, err := encode(a)
		spent := a.Spent
		return next, func() { p.accept(time.Now(), told, limit, spent, got) }, err
	}
}

// next returns the estimate of the request that waits longest in any budget.
func (p *sweepSpend) next() Spend {
	for _, b := range p.g.budgets {
		if w := b.queue.next(p.owns); w != nil {
			return w.expected()
		}
	}
	return Spend{}
}

// accept takes what a claim got.
func (p *sweepSpend) accept(now time.Time, told claim, limit, spent Spend, got reserve) {
	p.sent = nil
	p.retry = time.Time{}
	if limit != p.limit { // it was changed meanwhile
		p.ask()
		return
	}
	p.reserved, p.until = got.Got, p.sentAt.Add(p.g.cfg.Lease)
	if wanted := told.held.plus(told.want); got.Got.Tokens < wanted.Tokens || got.Got.Micros < wanted.Micros {
		p.retry = now.Add(poll)
	}
	if got.Over && limit != (Spend{}) {
		p.over = exceeded(spent, limit, told.need)
	}
	if p.over != nil {
		p.stop(limit)
	}
	for _, b := range p.g.budgets {
		b.dispatch(now)
	}
}

// exceeded says that a limit is reached, or that the next request does not fit into what is left,
// and which flag helps.
func exceeded(spent, limit, need Spend) error {
	said := fmt.Sprintf("%s of %s", spent.limitedBy(limit), limit.limitedBy(limit))
	if !spent.reaches(limit) && !spent.plus(need).within(limit) {
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

// stop fails the requests that wait with a limit that is reached. If others wait with another one,
// it is theirs that counts now.
func (p *sweepSpend) stop(limit Spend) {
	var next *waiter
	for _, b := range p.g.budgets {
		b.fail(func(w *waiter) bool { return w.sweepSpend == p && w.limit == limit }, p.over)
		if w := b.queue.next(p.owns); w != nil {
			next = w
		}
	}
	if next != nil {
		_ = p.admit(next.limit) // another limit: nothing is known of it yet
		p.ask()
	}
}

// plan implements kept.
func (p *sweepSpend) plan(now time.Time) (due time.Time, idle bool) {
	lease := p.g.cfg.Lease
	due = now.Add(lease / 3)
	if p.limit != (Spend{}) && p.waiters > 0 && now.Before(p.retry) {
		due = earlier(p.retry, due)
	}
	return due, p.waiters == 0 && p.running == 0 && p.spent == (Spend{}) && now.Sub(p.active) > lease
}

// Spent returns what a sweep has spent in all replicas, as far as they have said so: they do
// several times a second. The error is that of the store.
func (g *Limiter) Spent(ctx context.Context, sweep string) (Spend, error) {
	raw, _, err := g.store.Read(ctx, spendPrefix+sweep)
	if err != nil {
		return Spend{}, err
	}
	a, err := decodeAccount(raw)
	if err != nil {
		return Spend{}, err
	}
	return a.Spent, nil
}
