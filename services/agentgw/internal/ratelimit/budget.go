package ratelimit

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"
)

const (
	// maxModels bounds the models of one key whose usage is known.
	maxModels = 1 << 8
	// look is how often a budget whose requests wait looks around at least.
	look = time.Second

	pauseFirst = 500 * time.Millisecond
	pauseMax   = 30 * time.Second
)

// budget is the budget of a key. All of it is under the limiter's lock.
type budget struct {
	g        *Limiter
	key      Key
	limit    Limit
	label    Key                      // its name in metrics
	measured metric.MeasurementOption // is made of it

	queue            queue
	running          int
	requests, tokens *bucket
	averages         map[string]*usageAverage // by model
	active           time.Time                // last use
	wake             *time.Timer

	taught      learned
	cut         time.Time // when it was last cut: requests that had begun by then say nothing new
	paused      time.Time // until when nothing may begin
	pausedSince time.Time
	why         string // the provider asked for that

	breaker *breaker
	outage  outage
	told    time.Time // when the log was last told of a wait
	toldOf  time.Time // the wait that the log knows of and not its end
}

func newBudget(g *Limiter, key Key) *budget {
	now := time.Now()
	b := &budget{
		g: g, key: key, limit: g.cfg.limit(key.Provider), averages: make(map[string]*usageAverage), taught: unlearned,
		breaker: newBreaker(g.cfg.BreakerFailures), active: now,
	}
	b.requests, b.tokens = newBucket(b.limit.Requests), newBucket(b.limit.Tokens)
	b.label, b.measured = g.meters.name(key)
	return b
}

// idle says that nothing depends on what the budget knows.
func (b *budget) idle(now time.Time) bool {
	return b.running+b.queue.n == 0 && now.Sub(b.active) > forgotten && !now.Before(b.paused)
}

// allowed returns how many requests may run at once.
func (b *budget) allowed() int {
	return max(int(min(b.taught.concurrency, float64(b.limit.Concurrency))), 1)
}

// push lets a request wait that has time until a deadline, if it has one.
func (b *budget) push(now, deadline time.Time, w *waiter) error {
	b.active = now
	if err := b.checkOutage(now, w.party); err != nil {
		return err
	}
	var yields *waiter
	if b.queue.n >= b.g.cfg.Queue {
		if yields = b.queue.surplus(w.sweep); yields == nil {
			return b.full()
		}
	}
	if !deadline.IsZero() && deadline.Before(b.paused) {
		b.notify(now)
		return fmt.Errorf("%w %s more", ErrPaused, b.paused.Sub(now).Round(time.Second))
	}
	var err error
	if w.tried, err = b.breaker.admit(now, b.waits(now, w.party)); err != nil {
		return err
	}
	if yields != nil {
		b.fail(func(w *waiter) bool { return w == yields }, b.full())
	}
	b.queue.push(w)
	b.dispatch(now)
	return nil
}

// average returns what the requests to a model use.
func (b *budget) average(model string) *usageAverage {
	if len(b.averages) >= maxModels {
		clear(b.averages)
	}
	h := b.averages[model]
	if h == nil {
		h = &usageAverage{}
		b.averages[model] = h
	}
	return h
}

// waitsFor says why a request has not begun.
func (b *budget) waitsFor(now time.Time) string {
	if now.Before(b.paused) {
		return fmt.Sprintf("the provider asks to wait %s more", b.paused.Sub(now).Round(time.Millisecond))
	}
	return fmt.Sprintf("%d requests wait for their turn", b.queue.n)
}

// remove ends a request's wait.
func (b *budget) remove(w *waiter) {
	b.queue.remove(w)
	w.tried(errNothing)
}

// fail ends the wait of the requests that are chosen.
func (b *budget) fail(chosen func(w *waiter) bool, err error) {
	for _, w := range b.queue.drain(chosen) {
		w.tried(errNothing)
		w.err = err
		close(w.ready)
	}
}

// anyone chooses all requests.
func anyone(*waiter) bool { return true }

// full says that no more requests may wait.
func (b *budget) full() error { return fmt.Errorf("%w: %d", ErrQueue, b.queue.n) }

// dispatch lets begin what can, and looks again when more can.
func (b *budget) dispatch(now time.Time) {
	b.sleep()
	for w := b.next(); w != nil; w = b.next() {
		if b.limit.Tokens > 0 {
			w.tokens = min(max(w.average.expect(w.cost).Tokens, 1), b.limit.Tokens)
		}
		wait := max(b.paused.Sub(now), b.requests.wait(now, 1), b.tokens.wait(now, w.tokens))
		if wait > 0 || b.running >= b.allowed() {
			b.notify(now)
			b.lookIn(min(max(wait, time.Millisecond), look))
			return
		}
		b.begin(now, w)
	}
}

// next returns whose turn it is, nil if nobody's. Requests of sweeps that have spent what they may
// wait no longer.
func (b *budget) next() *waiter {
	for {
		var over *waiter
		var why error
		w := b.queue.next(func(w *waiter) bool {
			fits, err := w.spend.admits(w)
			if err != nil {
				over, why = w, err
			}
			return fits
		})
		if over == nil {
			return w
		}
		b.fail(func(w *waiter) bool { return w.spend == over.spend }, why)
	}
}

// lookIn dispatches again after a time.
func (b *budget) lookIn(wait time.Duration) {
	b.wake = time.AfterFunc(wait, func() {
		b.g.mu.Lock()
		defer b.g.mu.Unlock()
		b.dispatch(time.Now())
	})
}

// sleep looks no more by itself.
func (b *budget) sleep() {
	if b.wake != nil {
		b.wake.Stop()
	}
}

// begin lets a request begin.
func (b *budget) begin(now time.Time, w *waiter) {
	b.queue.serve(w, b.share(w))
	b.requests.take(now, 1)
	b.tokens.take(now, w.tokens)
	w.held = w.average.expect(w.cost)
	w.average.running++
	w.spend.begin(w)
	b.running++
	b.active = now
	w.permit = &Permit{g: b.g, w: w, began: now}
	close(w.ready)
}

// share is the part of a minute's budget that a request takes, of what it takes most of.
func (b *budget) share(w *waiter) float64 {
	var requests, tokens float64
	if b.limit.Requests > 0 {
		requests = 1 / float64(b.limit.Requests)
	}
	if b.limit.Tokens > 0 {
		tokens = float64(w.tokens) / float64(b.limit.Tokens)
	}
	if share := max(requests, tokens); share > 0 {
		return share
	}
	return 1
}

// end books how a request ended.
func (b *budget) end(now time.Time, p *Permit, o Outcome) {
	w := p.w
	b.running--
	b.active = now
	b.g.meters.ended(b, o.Class, p.cost)
	w.average.end(w.cost, o)
	b.correct(now, p, o)
	opens := b.breaker.note(w, o)
	switch {
	case o.Class == Succeeded:
		b.answers(now)
		if p.began.After(b.cut) {
			b.taught.succeed(b.limit.Concurrency)
		}
	case o.Class.refused():
		b.refused(now, p, o)
	}
	if o.Class.refused() || o.Class == Failed {
		b.recordRefusal(now, w.party, o)
	}
	if opens {
		reason := b.breaker.reason(now, b.breaker.kind(true))
		b.g.logger.Warn("provider is left alone", "provider", b.key.Provider, "reason", reason)
		b.tell(b.outage.began)
		b.fail(anyone, reason)
	}
	b.requests.scale(now, b.taught.rate)
	b.tokens.scale(now, b.taught.rate)
	b.dispatch(now)
}

// correct books what a request took other than expected.
func (b *budget) correct(now time.Time, p *Permit, o Outcome) {
	switch surplus := p.cost.Tokens - p.w.tokens; {
	case o.Class == Unsent:
		b.requests.give(now, 1)
		b.tokens.give(now, p.w.tokens)
	case o.Usage == nil:
	case surplus > 0:
		b.tokens.take(now, surplus)
	default:
		b.tokens.give(now, -surplus)
	}
}

// refused cuts the budget and lets it rest. Of requests that had begun before the last cut only
// what the provider asks for counts.
func (b *budget) refused(now time.Time, p *Permit, o Outcome) {
	if p.began.After(b.cut) {
		b.taught.cut(b.running + 1)
		b.cut = now
	} else if o.RetryAfter <= 0 {
		return
	}
	after := o.RetryAfter
	if after <= 0 {
		after = backoff(b.taught.streak-1, pauseFirst, pauseMax, b.g.cfg.Jitter())
	}
	b.pause(now, min(after, b.g.cfg.MaxPause), bounded(o.Reason))
}

// pause lets nothing begin for a time, because of what the provider said.
func (b *budget) pause(now time.Time, after time.Duration, why string) {
	until := now.Add(after)
	if !until.After(b.paused) {
		return
	}
	if !now.Before(b.paused) {
		b.pausedSince = now
	}
	b.paused, b.why = until, why
}

// backoff returns the n-th of waits that double from first up to limit, shortened by up to a half.
func backoff(n int, first, limit time.Duration, jitter float64) time.Duration {
	wait := min(first<<min(n, 20), limit)
	return wait/2 + time.Duration(jitter*float64(wait)/2)
}
