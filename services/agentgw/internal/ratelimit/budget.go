package ratelimit

import (
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolsandbox/toolsandbox/internal/instrument"
)

// pauseMax is the longest pause after a refusal without a retry time.
const pauseMax = 30 * time.Second

// budget is the budget of one key. The limiter's lock protects it.
type budget struct {
	limiter *Limiter
	key     Key
	limit   Limit
	labels  metric.MeasurementOption

	queue            queue
	running          int
	requests, tokens *bucket
	usage            map[string]*usage // by model
	active           time.Time         // time of the last use
	timer            *time.Timer       // dispatches when the next request may begin

	adaptive    adaptiveLimits
	answered    int       // requests that succeeded
	timedOut    int       // requests that timed out
	lastCut     time.Time // time of the last cut; refusals of older requests do not cut again
	pausedUntil time.Time // no request may begin before

	breaker      *gobreaker.TwoStepCircuitBreaker[any]
	openUntil    time.Time // the breaker is open until
	hasSucceeded bool      // some request has succeeded
	outage       outage
	lastLogged   time.Time // time of the last log line about an outage
	lastSlowLog  time.Time // time of the last log line about a slow provider
	loggedOutage time.Time // beginning of the outage that the log has reported
}

func newBudget(l *Limiter, key Key) *budget {
	limit := l.cfg.limit(key.Provider)
	b := &budget{
		limiter: l, key: key, limit: limit, labels: metric.WithAttributes(attribute.String(instrument.LabelProvider, key.Provider)),
		queue: queue{sweeps: make(map[string]*sweepQueue)}, requests: newBucket(limit.Requests), tokens: newBucket(limit.Tokens),
		usage: make(map[string]*usage), adaptive: adaptiveLimits{concurrency: float64(limit.Concurrency), rate: 1},
	}
	b.breaker = b.newBreaker(l.cfg)
	return b
}

// idle reports whether the budget can be dropped.
func (b *budget) idle(now time.Time) bool {
	return b.running+b.queue.n == 0 && now.Sub(b.active) > idleTimeout && !now.Before(b.pausedUntil)
}

// usageOf returns the usage of requests to a model.
func (b *budget) usageOf(model string) *usage {
	if b.usage[model] == nil {
		b.usage[model] = &usage{}
	}
	return b.usage[model]
}

// push queues a request. During an outage it still accepts one that could begin at once, as a probe
// of the provider.
func (b *budget) push(now time.Time, p *Permit) error {
	b.active = now
	b.outage.addRun(now, p.request.Run)
	first := b.running+b.queue.n == 0 && !now.Before(b.blockedUntil())
	if err := b.waitError(now, p.request.Run); err != nil && !first {
		return err
	}
	if !b.queue.push(p, b.limiter.cfg.Queue) {
		return fmt.Errorf("%w: %d", ErrQueueFull, b.limiter.cfg.Queue)
	}
	b.dispatch(now)
	return nil
}

// dispatch begins requests that fit, and schedules itself for the next one.
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
			return // until the probe of the half-open breaker ends
		}
		b.begin(now, p)
	}
}

// fits reports whether a request fits into its sweep's spend limit. It fails all queued requests of
// a sweep that has spent its limit.
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

// begin begins a request. Its sweep is charged the share of a minute's budget that the request
// takes, of requests or tokens, whichever is larger.
func (b *budget) begin(now time.Time, p *Permit) {
	b.queue.pop(p, max(1/float64(b.limit.Requests), float64(p.tokens)/float64(b.limit.Tokens)))
	b.requests.take(now, 1)
	b.tokens.take(now, p.tokens)
	p.usage.running++
	p.spend.begin(p)
	b.running++
	b.active, p.began, p.answeredBefore, p.timedOutBefore = now, now, b.answered, b.timedOut
	close(p.ready)
}

// end records the outcome of a request.
func (b *budget) end(now time.Time, p *Permit, o Outcome) {
	b.running--
	b.active = now
	p.usage.end(p.request.Estimate, o)
	if o.Class == Unsent {
		b.requests.take(now, -1)
		b.tokens.take(now, -p.tokens)
	} else if o.Cost.Tokens > 0 {
		b.tokens.take(now, o.Cost.Tokens-p.tokens)
	}
	p.result(map[Class]error{Abandoned: errExcluded, Unsent: errExcluded, Failed: errFailed, TimedOut: errFailed}[o.Class])
	switch {
	case o.Class == Succeeded:
		b.recordSuccess(now)
		b.answered++
		if p.began.After(b.lastCut) {
			b.adaptive.succeed(b.limit.Concurrency, now.Sub(p.began))
		}
	case o.Class.refused():
		b.slowDown(now, p, o)
		b.recordRefusal(now, p.request.Run, o)
	case o.Class == TimedOut:
		b.relieve(now, p)
		b.recordRefusal(now, p.request.Run, o)
	case o.Class == Failed:
		b.recordRefusal(now, p.request.Run, o)
	}
	b.dispatch(now)
}

// slowDown cuts and pauses the budget. A request that began before the last cut only contributes
// the provider's retry time.
func (b *budget) slowDown(now time.Time, p *Permit, o Outcome) {
	after := o.RetryAfter
	if p.began.After(b.lastCut) {
		b.adaptive.cut(b.running + 1)
		b.lastCut = now
		if after <= 0 {
			wait := min(b.limiter.cfg.FirstPause<<min(b.adaptive.cuts-1, 20), pauseMax)
			after = wait/2 + time.Duration(b.limiter.cfg.Jitter()*float64(wait)/2)
		}
	}
	b.pausedUntil = later(b.pausedUntil, now.Add(min(after, b.limiter.cfg.MaxPause)))
}

// relieve bounds the concurrency for a provider that was too slow for a request: to half the
// requests that it answered meanwhile, so that the next ones take half as long as they may. The
// pause lets it work off the request that nobody waits for any more. A request that began before
// the last cut only prolongs the pause. If the provider answered others meanwhile, it was crowded;
// so is one beside more than that half, with those that timed out meanwhile, because they may still
// keep the provider busy.
func (b *budget) relieve(now time.Time, p *Permit) {
	limit := now.Sub(p.began)
	answered := b.answered - p.answeredBefore
	until := later(b.pausedUntil, now).Add(limit / time.Duration(max(answered, 1)))
	b.pausedUntil = later(b.pausedUntil, earlier(until, now.Add(limit)))
	beside := b.running + b.timedOut - p.timedOutBefore
	p.crowded = answered > 0 && (!p.began.After(b.lastCut) || beside >= max(answered/2, 1))
	b.timedOut++
	if !p.began.After(b.lastCut) {
		return
	}
	b.adaptive.timeOut(limit, b.running+1, answered/2)
	b.lastCut = now
	if now.Sub(b.lastSlowLog) >= logEvery {
		b.lastSlowLog = now
		b.limiter.logger.Warn("model server is too slow for its requests, so fewer are sent at once", "provider", b.key.Provider,
			"model", p.request.Model, "timeout", limit.Round(time.Second), "at_once", int(b.adaptive.concurrency),
			"remedy", "lower --parallel or raise --model-timeout")
	}
}
