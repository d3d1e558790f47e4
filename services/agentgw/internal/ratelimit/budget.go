package ratelimit

import (
	"context"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const (
	// minRate is the smallest share of the rates that refusals leave. A run of successes adds
	// rateStep to it, and multiplies the concurrency by growth.
	minRate, rateStep, growth = 1.0 / 16, 0.05, 1.1
	// pauseMax is the longest pause after a refusal that asks for none.
	pauseMax = 30 * time.Second
)

// budget is the budget of a key. All of it is under the limiter's lock.
type budget struct {
	limiter *Limiter
	key     Key
	limit   Limit
	labels  metric.MeasurementOption

	queue            queue
	running          int
	requests, tokens *bucket
	usage            map[string]*usage // by model
	active           time.Time         // last use
	timer            *time.Timer       // dispatches when a request may begin that has to wait

	adaptive adaptive
	cut      time.Time // when it was last cut: requests that had begun by then say nothing new
	paused   time.Time // until when nothing may begin

	breaker *gobreaker.TwoStepCircuitBreaker[any]
	open    time.Time // until when the breaker is
	worked  bool      // a request has succeeded
	outage  outage
	logged  time.Time // when the log last told of an outage
	silent  time.Time // beginning of the outage whose end the log is to tell of
}

func newBudget(l *Limiter, key Key) *budget {
	limit := l.cfg.limit(key.Provider)
	b := &budget{
		limiter: l, key: key, limit: limit, labels: metric.WithAttributes(attribute.String("provider", key.Provider)),
		queue: queue{sweeps: make(map[string]*sweepQueue)}, requests: newBucket(limit.Requests), tokens: newBucket(limit.Tokens),
		usage: make(map[string]*usage), adaptive: adaptive{concurrency: float64(limit.Concurrency), rate: 1},
	}
	b.breaker = b.newBreaker(l.cfg)
	return b
}

// idle says that nothing depends on what the budget knows.
func (b *budget) idle(now time.Time) bool {
	return b.running+b.queue.n == 0 && now.Sub(b.active) > forgotten && !now.Before(b.paused)
}

// usageOf returns what the requests to a model use.
func (b *budget) usageOf(model string) *usage {
	if b.usage[model] == nil {
		b.usage[model] = &usage{}
	}
	return b.usage[model]
}

// push lets a request wait. One that could begin at once may in an outage, too: it finds out
// whether the provider is back.
func (b *budget) push(now time.Time, p *Permit) error {
	b.active = now
	b.outage.enter(now, p.request.Run)
	first := b.running+b.queue.n == 0 && !now.Before(b.blockedUntil())
	if err := b.refuse(now, p.request.Run); err != nil && !first {
		return err
	}
	if !b.queue.push(p, b.limiter.cfg.Queue) {
		return fmt.Errorf("%w: %d", ErrQueueFull, b.limiter.cfg.Queue)
	}
	b.dispatch(now)
	return nil
}

// dispatch lets begin what can, and dispatches again when more can.
func (b *budget) dispatch(now time.Time) {
	if b.timer != nil {
		b.timer.Stop()
	}
	for b.running < int(b.adaptive.concurrency) {
		p := b.queue.next(b.fits)
		if p == nil {
			return
		}
		p.tokens = min(max(p.expected.Tokens, 1), b.limit.Tokens)
		wait := max(b.blockedUntil().Sub(now), b.requests.wait(now, 1, b.adaptive.rate), b.tokens.wait(now, p.tokens, b.adaptive.rate))
		if wait > 0 {
			b.timer = time.AfterFunc(wait, func() {
				b.limiter.mu.Lock()
				defer b.limiter.mu.Unlock()
				b.dispatch(time.Now())
			})
			return
		}
		var err error
		if p.result, err = b.breaker.Allow(); err != nil {
			return // until the request ends that finds out whether the provider is back
		}
		b.begin(now, p)
	}
}

// fits says whether a request fits into what its sweep may spend. Those of a sweep that has spent
// all of it wait no longer.
func (b *budget) fits(p *Permit) bool {
	p.expected = p.usage.expect(p.request.Estimate)
	fits, spent := p.spend.admits(p)
	if spent != nil {
		b.queue.fail(func(o *Permit) error {
			if o.spend != p.spend {
				return nil
			}
			return spent
		})
	}
	return fits
}

// begin lets a request begin. Its sweep takes the part of a minute's budget that the request takes,
// of what it takes most of.
func (b *budget) begin(now time.Time, p *Permit) {
	b.queue.serve(p, max(1/float64(b.limit.Requests), float64(p.tokens)/float64(b.limit.Tokens)))
	b.requests.take(now, 1)
	b.tokens.take(now, p.tokens)
	p.usage.running++
	p.spend.begin(p)
	b.running++
	b.active, p.began = now, now
	close(p.ready)
}

// end books how a request ended.
func (b *budget) end(now time.Time, p *Permit, o Outcome, cost Cost) {
	b.running--
	b.active = now
	b.count(o.Class, cost)
	p.usage.end(p.request.Estimate, o)
	if o.Class == Unsent {
		b.requests.take(now, -1)
		b.tokens.take(now, -p.tokens)
	} else if o.Cost.Tokens > 0 {
		b.tokens.take(now, o.Cost.Tokens-p.tokens)
	}
	p.result(map[Class]error{Abandoned: errNothing, Unsent: errNothing, Failed: errFailed}[o.Class])
	switch {
	case o.Class == Succeeded:
		b.answered(now)
		if p.began.After(b.cut) {
			b.adaptive.succeed(b.limit.Concurrency)
		}
	case o.Class.refused():
		b.slowDown(now, p, o)
		b.recordRefusal(now, p.request.Run, o)
	case o.Class == Failed:
		b.recordRefusal(now, p.request.Run, o)
	}
	b.dispatch(now)
}

// count adds a request to the metrics, whether or not its caller still waits.
func (b *budget) count(class Class, cost Cost) {
	ctx, m := context.Background(), b.limiter.meters
	m.requests.Add(ctx, 1, b.labels, metric.WithAttributes(attribute.String("class", string(class))))
	m.tokens.Add(ctx, cost.Tokens, b.labels)
	m.money.Add(ctx, float64(cost.Micros)/1e6, b.labels)
}

// slowDown cuts the budget and pauses it. Of requests that had begun before the last cut only what
// the provider asks for counts.
func (b *budget) slowDown(now time.Time, p *Permit, o Outcome) {
	after := o.RetryAfter
	if p.began.After(b.cut) {
		b.adaptive.cut(b.running + 1)
		b.cut = now
		if after <= 0 {
			wait := min(b.limiter.cfg.FirstPause<<min(b.adaptive.cuts-1, 20), pauseMax)
			after = wait/2 + time.Duration(b.limiter.cfg.Jitter()*float64(wait)/2)
		}
	}
	b.paused = later(b.paused, now.Add(min(after, b.limiter.cfg.MaxPause)))
}

// adaptive is what refusals leave of a budget's limits.
type adaptive struct {
	concurrency float64 // requests at once
	threshold   float64 // below it concurrency doubles: what an outage took comes back soon
	rate        float64 // share of the limits per minute
	successes   int     // since the last change
	cuts        int     // without a success between them
}

// cut halves what is allowed, of what was in use.
func (a *adaptive) cut(running int) {
	a.concurrency = max(min(a.concurrency, float64(running))/2, 1)
	if a.cuts == 0 {
		a.threshold = a.concurrency
	}
	a.rate = max(a.rate/2, minRate)
	a.successes = 0
	a.cuts++
}

// succeed gives something back after each run of successes as long as the concurrency. limit is
// what may run at once at most.
func (a *adaptive) succeed(limit int64) {
	a.cuts = 0
	if a.successes++; float64(a.successes) < a.concurrency {
		return
	}
	a.successes = 0
	a.concurrency = min(max(a.concurrency*growth+1, min(a.concurrency*2, a.threshold)), float64(limit))
	a.rate = min(a.rate+rateStep, 1)
}
