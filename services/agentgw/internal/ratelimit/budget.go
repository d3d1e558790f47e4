package ratelimit

import (
	"cmp"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"
)

const (
	minLease = 100 * time.Millisecond
	// hold is for how long requests and tokens of the limits per minute are taken in advance.
	hold = time.Second
	// poll is the pause before a replica asks again for what it did not get.
	poll = 100 * time.Millisecond
	// minAhead and maxAhead bound what is taken in advance, in requests.
	minAhead, maxAhead = 4, 1 << 12

	pauseFirst = 500 * time.Millisecond
	pauseMax   = 30 * time.Second
)

// budget is this replica's part of a budget. All of it is under the limiter's lock.
type budget struct {
	keeping
	g        *Limiter
	key      Key
	limit    Limit
	label    Key                      // its name in metrics
	measured metric.MeasurementOption // is made of it
	breaker  breaker
	outage   outage
	notice   notice
	queue    queue

	running int
	slots   int       // requests that may run at once
	leased  time.Time // until when
	chunks  []chunk
	paused  time.Time // until when
	pause   pause     // worth telling, which is a part of that time
	held    time.Time // when a request last had to wait for that
	cut     time.Time // when a request was last refused anywhere
	streak  int
	allowed int // requests at once of all replicas
	recent  int // requests that began since the last report
	typical int64
	// answered is the ledger's count, by which an outage that is over elsewhere is noticed.
	answered uint64
	sent     *report // that may or may not have been booked
	tally    tally
}

// chunk is a part of the limits per minute.
type chunk struct {
	second, requests, tokens int64
	end                      time.Time
}

func newBudget(g *Limiter, key Key) *budget {
	b := &budget{
		keeping: newKeeping(g, "budget."+key.Provider+"."+key.Fingerprint), g: g, key: key, limit: g.cfg.limit(key.Provider),
		breaker: breaker{threshold: g.cfg.BreakerFailures, jitter: g.cfg.Jitter},
	}
	b.label, b.measured = g.meters.name(key)
	b.forget = func() { delete(g.budgets, key) }
	b.refuse = func(err error) { b.fail(anyone, err) }
	return b
}

// push lets a request wait.
func (b *budget) push(now time.Time, w *waiter) {
	b.active = now
	b.typical = w.tokens
	b.queue.push(w)
	w.sweepSpend.push(now)
}

// remove ends a request's wait.
func (b *budget) remove(w *waiter) {
	b.queue.remove(w)
	w.sweepSpend.left()
	if w.probe {
		b.breaker.probing = false
	}
}

// fail ends the wait of the requests that are chosen.
func (b *budget) fail(chosen func(w *waiter) bool, err error) {
	for _, w := range b.queue.drain(chosen) {
		b.remove(w)
		w.err = err
		close(w.ready)
	}
}

// dispatch lets begin what can, and asks for more of the budget when that runs out.
func (b *budget) dispatch(now time.Time) {
	b.expire(now)
	for b.queue.n > 0 && !now.Before(b.paused) {
		w := b.queue.next(func(w *waiter) bool { return w.sweepSpend.covers(now, w) })
		if w == nil {
			return
		}
		if now.After(b.leased) || b.running >= b.slots || !b.has(w.tokens) {
			b.ask()
			return
		}
		b.begin(now, w)
	}
	requests, tokens := b.spare()
	ahead := b.ahead() / 2
	if b.recent > 0 && (b.slots-b.running < ahead || b.limit.Requests > 0 && requests < int64(ahead) || b.limit.Tokens > 0 && tokens < int64(ahead)*b.typical) {
		b.ask()
	}
}

// has says whether what was taken in advance is enough for a request.
func (b *budget) has(need int64) bool {
	requests, tokens := b.spare()
	return (b.limit.Requests == 0 || requests > 0) && (b.limit.Tokens == 0 || tokens >= need)
}

// spare returns the requests and tokens that are left of what was taken in advance.
func (b *budget) spare() (requests, tokens int64) {
	for _, c := range b.chunks {
		requests += c.requests
		tokens += c.tokens
	}
	return requests, tokens
}

// begin grants a request that fits.
func (b *budget) begin(now time.Time, w *waiter) {
	gr := &Permit{g: b.g, w: w, began: now}
	requests, tokens := int64(1), w.tokens
	for i := range b.chunks {
		c := &b.chunks[i]
		n, m := min(requests, c.requests), min(tokens, c.tokens)
		if gr.second == 0 && n+m > 0 {
			gr.second = c.second
		}
		c.requests, c.tokens, requests, tokens = c.requests-n, c.tokens-m, requests-n, tokens-m
	}
	w.grant = gr
	b.queue.serve(w, b.cost(w))
	w.sweepSpend.left()
	w.sweepSpend.begin(w)
	b.running++
	b.recent++
	b.active = now
	close(w.ready)
}

// cost is the share of a minute's budget that a request takes, of what it takes most of.
func (b *budget) cost(w *waiter) float64 {
	var requests, tokens float64
	if b.limit.Requests > 0 {
		requests = 1 / float64(b.limit.Requests)
	}
	if b.limit.Tokens > 0 {
		tokens = float64(w.tokens) / float64(b.limit.Tokens)
	}
	if cost := max(requests, tokens); cost > 0 {
		return cost
	}
	return 1
}

// end books how a request ended.
func (b *budget) end(now time.Time, gr *Permit, o Outcome, tokens int64) {
	b.running--
	b.active = now
	if b.limit.Tokens > 0 && o.Usage != nil {
		if spare := gr.w.tokens - tokens; spare > 0 {
			b.tally.refunds = append(b.tally.refunds, refund{second: gr.second, tokens: spare})
		} else {
			b.tally.surplus -= spare
		}
	}
	opens := b.breaker.note(now, o, gr.w.probe)
	switch o.Class {
	case Unsent:
		b.tally.refunds = append(b.tally.refunds, refund{second: gr.second, requests: 1, tokens: gr.w.tokens})
	case Succeeded:
		b.tally.answered = true
		b.answers(now)
		if gr.began.After(b.cut) {
			b.tally.successes++
		}
	case Throttled, Overloaded:
		b.refused(now, gr, o)
	}
	if o.Class == Throttled || o.Class == Overloaded || o.Class == Failed {
		b.recordRefusal(now, gr.w.party, o)
	}
	if opens {
		reason := b.breaker.reason(now, true)
		b.g.logger.Warn("provider is left alone", "provider", b.key.Provider, "reason", reason)
		b.notice.begin(b.outage.began)
		b.fail(anyone, reason)
	}
	b.dispatch(now)
}

// refused lets the budget rest, here at once and everywhere with the next report. Of requests that
// had begun before the last refusal only what the provider asks for counts.
func (b *budget) refused(now time.Time, gr *Permit, o Outcome) {
	b.tally.refused++
	b.tally.began = max(b.tally.began, gr.began.UnixMilli())
	after := o.RetryAfter
	if after <= 0 && gr.began.Before(b.cut) {
		return
	}
	b.cut = now
	if after <= 0 {
		after = backoff(b.streak, pauseFirst, pauseMax, b.g.cfg.Jitter())
	}
	after = min(after, b.g.cfg.MaxPause)
	if ms := after.Milliseconds(); ms > b.tally.pause {
		b.tally.pause, b.tally.why = ms, bounded(o.Reason)
	}
	b.pauseUntil(now, now.Add(after), o.Reason, after >= noticeEvery)
	b.retry = time.Time{}
	b.ask()
}

// pauseUntil lets nothing begin until a time, because of what the provider said. Told are long
// pauses, and those that were asked for elsewhere, of which nothing is known here.
func (b *budget) pauseUntil(now, until time.Time, why string, tell bool) {
	if !until.After(b.paused) {
		return
	}
	if !now.Before(b.paused) {
		b.pause = pause{}
	}
	if longer := min(until.Sub(now), until.Sub(b.paused)); tell && longer > noticeAfter {
		b.pause = pause{since: cmp.Or(b.pause.since, now), why: bounded(why)}
	}
	b.paused = until
}

// expire gives up what was taken in advance for too long.
func (b *budget) expire(now time.Time) {
	kept := b.chunks[:0]
	for _, c := range b.chunks {
		switch {
		case now.After(c.end):
			if c.requests > 0 || c.tokens > 0 {
				b.tally.refunds = append(b.tally.refunds, refund{c.second, c.requests, c.tokens})
			}
		case c.requests > 0 || c.tokens > 0:
			kept = append(kept, c)
		}
	}
	b.chunks = kept
}

// ahead is how many requests to take in advance.
func (b *budget) ahead() int { return min(max(2*b.recent, minAhead), maxAhead) }

// anyone chooses all requests.
func anyone(*waiter) bool { return true }

// full says that no more requests may wait.
func (b *budget) full() error { return fmt.Errorf("%w: %d", ErrQueue, b.queue.n) }

// waitsFor says why a request has not begun.
func (b *budget) waitsFor(now time.Time) string {
	switch {
	case b.trouble != nil:
		return fmt.Sprintf("the other replicas cannot be heard (%v)", b.trouble)
	case now.Before(b.paused):
		return fmt.Sprintf("the provider asks to wait %s more", b.paused.Sub(now).Round(time.Millisecond))
	default:
		return fmt.Sprintf("%d requests wait for their turn", b.queue.n)
	}
}

// report implements kept.
func (b *budget) report(now time.Time, last bool) change {
	b.expire(now)
	b.notify(now)
	if b.sent == nil {
		b.seq++
		b.sent = &report{replica: b.replica, seq: b.seq, tally: b.tally}
		b.tally, b.sentAt = tally{}, now
	}
	r := b.sent
	r.lease, r.longest = b.g.cfg.Lease.Milliseconds(), b.g.cfg.MaxPause.Milliseconds()
	r.last, r.running, r.more, r.requests, r.tokens, r.need = last, b.running, 0, 0, 0, 0
	if !last && b.queue.n+b.recent > 0 {
		ahead := b.ahead()
		requests, tokens := b.spare()
		r.more = b.queue.n + ahead
		r.requests = max(int64(b.queue.n+ahead)-requests, 0)
		if next := b.queue.next(anyone); next != nil {
			r.need = max(next.tokens-tokens, 0)
		}
		r.tokens = max(b.queue.tokens+int64(ahead)*b.typical-tokens, r.need)
	}
	b.recent = 0
	told, limit, sent := *r, b.limit, b.sentAt
	return func(raw []byte, now int64) ([]byte, func(), error) {
		l, err := decodeLedger(raw)
		if err != nil {
			return nil, nil, err
		}
		booked := time.Now()
		if l.Replicas[told.replica].Seq == told.seq {
			booked = sent // or later: its acknowledgement was lost
		}
		got := l.settle(now, limit, told)
		next, err := encode(l)
		return next, func() { b.accept(time.Now(), booked, told, got, l.Why) }, err
	}
}

// accept takes what a report got, and may keep it for a while from when it was booked; why is what
// the provider said that asked for a pause.
func (b *budget) accept(now, booked time.Time, told report, got allotment, why string) {
	b.sent = nil
	b.slots, b.leased = got.Slots, booked.Add(b.g.cfg.Lease)
	if got.Streak > b.streak {
		b.cut = now // by another replica, or by this one
	}
	b.allowed, b.streak = got.Allowed, got.Streak
	if got.Answered != b.answered {
		b.answered = got.Answered
		if b.breaker.opened == 0 { // else the way from here may be what is broken
			b.answers(now)
		}
	}
	if got.Requests > 0 || got.Tokens > 0 {
		b.chunks = append(b.chunks, chunk{got.Second, got.Requests, got.Tokens, booked.Add(hold)})
	}
	if got.Pause > 0 {
		b.pauseUntil(now, now.Add(time.Duration(got.Pause)*time.Millisecond), why, true)
	}
	short := got.Slots < told.running+told.more || b.limit.Requests > 0 && got.Requests < told.requests || b.limit.Tokens > 0 && got.Tokens < told.tokens
	b.retry = time.Time{}
	if short {
		b.retry = now.Add(max(time.Duration(got.Retry)*time.Millisecond, poll))
	}
	b.dispatch(now)
}

// plan implements kept.
func (b *budget) plan(now time.Time) (due time.Time, idle bool) {
	lease := b.g.cfg.Lease
	due = now.Add(lease / 3)
	switch {
	case b.queue.n > 0 && now.Before(b.paused):
		due = earlier(b.paused, due)
	case b.queue.n > 0 && !b.retry.IsZero():
		due = earlier(b.retry, due)
	case b.recent > 0:
		due = earlier(now.Add(hold/2), due)
	}
	quiet := lease
	if !b.outage.began.IsZero() {
		quiet = forgotten
	}
	idle = b.running == 0 && b.queue.n == 0 && now.Sub(b.active) > quiet && now.After(b.breaker.until.Add(breakerMax)) && !now.Before(b.paused)
	return due, idle
}
