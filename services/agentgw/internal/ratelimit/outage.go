package ratelimit

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

const (
	// forgotten is after which time without a request an outage counts no more.
	forgotten = stale * time.Millisecond
	// maxStays bounds the parties that are remembered; beyond that all wait anew.
	maxStays = 1 << 12
	// maxReason bounds what is repeated of a provider's reason.
	maxReason = 300
)

// party is who waits for a budget: a sweep in one of its rounds. What is played again waits anew.
type party struct {
	sweep string
	round int32
}

// outage is a time in which a provider answers no request under a key. The zero value says that
// there is none.
type outage struct {
	began, last     time.Time // when a request was first and last refused, or failed
	refused, failed int
	reason          string              // the last one
	since           map[party]time.Time // each has waited
}

// note takes in that a request of a party was refused or failed.
func (d *outage) note(now time.Time, p party, o Outcome) {
	if d.began.IsZero() {
		d.began, d.since = now, make(map[party]time.Time)
	}
	d.enter(now, p)
	d.last = now
	if o.Class == Failed {
		d.failed++
	} else {
		d.refused++
	}
	d.reason = cmp.Or(bounded(o.Reason), d.reason)
}

// bounded returns what is repeated of a reason.
func bounded(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
}

// enter lets a party wait from now on, unless it does already.
func (d *outage) enter(now time.Time, p party) {
	if _, waits := d.since[p]; waits || d.began.IsZero() {
		return
	}
	if len(d.since) >= maxStays {
		clear(d.since)
	}
	d.since[p] = now
}

// newest returns since when the last party waits.
func (d *outage) newest() time.Time {
	var last time.Time
	for _, since := range d.since {
		if since.After(last) {
			last = since
		}
	}
	return last
}

// waited returns for how long a party is known to have waited in vain. Nothing may be asked until
// shut; after that, and after the last request that failed, nobody knows.
func (d *outage) waited(now, shut time.Time, p party) time.Duration {
	since, waits := d.since[p]
	if !waits {
		return 0
	}
	known := earlier(shut, now)
	if known.Before(d.last) {
		known = d.last
	}
	return known.Sub(since)
}

// err says what came instead of answers.
func (d *outage) err(now time.Time) error {
	return fmt.Errorf("%w: in %s %d requests were refused (429, 503, 529) or told to wait, %d failed and none was answered%s",
		ErrOutage, now.Sub(d.began).Round(time.Second), d.refused, d.failed, lastly(d.reason))
}

// InOutage says whether a provider has answered no request under a key since a time when it had
// refused or failed one. If so, further refusals say nothing about the requests that they came to.
func (g *Limiter) InOutage(key Key, since time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.budgets[key]
	return b != nil && !b.outage.began.IsZero() && !b.outage.began.After(since)
}

// shut returns until when nothing may be asked: the provider asked for that, or it only fails.
func (b *budget) shut() time.Time {
	if b.breaker.until.After(b.paused) {
		return b.breaker.until
	}
	return b.paused
}

// waited returns for how long a party is known to have waited in vain.
func (b *budget) waited(now time.Time, p party) time.Duration {
	return b.outage.waited(now, b.shut(), p)
}

// waits says whether a party waits on: it has not waited in vain for as long as it may.
func (b *budget) waits(now time.Time, p party) bool { return b.waited(now, p) < b.g.cfg.MaxWait }

// checkOutage fails a request that would have to wait although its party waits no longer. What
// could begin at once may: it finds out whether the provider is back. While the breaker is open
// that says who may begin. The error is ErrOutage.
func (b *budget) checkOutage(now time.Time, p party) error {
	b.outage.enter(now, p)
	first := b.running+b.queue.n == 0 && !now.Before(b.paused)
	if first || b.breaker.opened > 0 || b.waits(now, p) {
		return nil
	}
	return b.outage.err(now)
}

// recordRefusal notes that a request of a party was refused or failed, and fails those that have
// waited for as long as they may.
func (b *budget) recordRefusal(now time.Time, p party, o Outcome) {
	b.outage.note(now, p, o)
	b.notify(now)
	if now.Sub(b.outage.began) < b.g.cfg.MaxWait {
		return
	}
	b.fail(func(w *waiter) bool { return !b.waits(now, w.party) }, b.outage.err(now))
}
