package ratelimit

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

const (
	// maxParties bounds the parties that are remembered; beyond that all wait anew.
	maxParties = 1 << 12
	// maxReason bounds what is repeated of a provider's reason.
	maxReason = 300
	// noticeAfter is how long requests are refused before the log tells of it: shorter times are
	// how budgets learn. noticeEvery is how often it does while that lasts.
	noticeAfter = 2 * time.Second
	noticeEvery = time.Minute
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
	if len(d.since) >= maxParties {
		clear(d.since)
	}
	d.since[p] = now
}

// waited returns for how long a party is known to have waited in vain. Nothing may be asked until
// shut; after that, and after the last request that failed, nobody knows.
func (d *outage) waited(now, shut time.Time, p party) time.Duration {
	since, waits := d.since[p]
	if !waits {
		return 0
	}
	known := shut
	if now.Before(known) {
		known = now
	}
	if known.Before(d.last) {
		known = d.last
	}
	return known.Sub(since)
}

// shut returns until when nothing may be asked: the provider asked for that, or it only fails.
func (b *budget) shut() time.Time {
	if b.breaker.until.After(b.paused) {
		return b.breaker.until
	}
	return b.paused
}

// waits says whether a party waits on: it has not waited in vain for as long as it may.
func (b *budget) waits(now time.Time, p party) bool {
	return b.outage.waited(now, b.shut(), p) < b.g.cfg.MaxWait
}

// outageError says what came instead of answers.
func (b *budget) outageError(now time.Time) error {
	d := b.outage
	return fmt.Errorf("%w: in %s %d requests were refused (429, 503, 529) or told to wait, %d failed and none was answered%s",
		ErrOutage, now.Sub(d.began).Round(time.Second), d.refused, d.failed, lastly(d.reason))
}

// checkOutage fails a request that would have to wait although its party waits no longer. What
// could begin at once may: it finds out whether the provider is back. While the breaker is open
// that says who may begin.
func (b *budget) checkOutage(now time.Time, p party) error {
	b.outage.enter(now, p)
	first := b.running+b.queue.n == 0 && !now.Before(b.paused)
	if first || !b.breaker.closed() || b.waits(now, p) {
		return nil
	}
	return b.outageError(now)
}

// recordRefusal notes that a request of a party was refused or failed, and fails those that have
// waited for as long as they may.
func (b *budget) recordRefusal(now time.Time, p party, o Outcome) {
	b.outage.note(now, p, o)
	b.notify(now)
	if now.Sub(b.outage.began) >= b.g.cfg.MaxWait {
		b.fail(func(w *waiter) bool { return !b.waits(now, w.party) }, b.outageError(now))
	}
}

// notify tells the log that requests wait for a provider: soon after that began, and again and
// again while it lasts and somebody asks. It is called about once a second while requests wait, and
// after each request that was refused or failed.
func (b *budget) notify(now time.Time) {
	began := b.outage.began
	if began.IsZero() || now.Before(began) {
		began = b.pausedSince
	}
	waits := b.running+b.queue.n > 0 || now.Sub(b.active) <= noticeEvery
	shut := b.shut().Sub(now)
	told := b.outage.refused > 0 || now.Before(b.paused)
	if !told || !waits || began.IsZero() || now.Sub(began) < noticeAfter || now.Sub(b.told) < noticeEvery {
		return
	}
	var newest time.Time
	for _, since := range b.outage.since {
		if since.After(newest) {
			newest = since
		}
	}
	text := fmt.Sprintf("%s; asked again in %s", cmp.Or(b.outage.reason, b.why, "it refuses requests (429, 503, 529)"), max(shut, 0).Round(time.Second))
	if !newest.IsZero() {
		left := newest.Add(b.g.cfg.MaxWait).Sub(now)
		if left <= 0 {
			return // the turns that fail say so
		}
		text += ", given up in " + left.Round(time.Second).String()
	}
	b.told = now
	b.tell(began)
	b.g.logger.Warn("waiting for provider", "provider", b.key.Provider, "reason", text)
}

// tell notes that the log knows of a wait.
func (b *budget) tell(began time.Time) {
	if b.toldOf.IsZero() {
		b.toldOf = began
	}
}

// answers ends an outage, and tells the log if that knows of it and others may be asked, too.
func (b *budget) answers(now time.Time) {
	if !b.toldOf.IsZero() && b.breaker.closed() && !now.Before(b.paused) {
		b.g.logger.Warn("provider answers again", "provider", b.key.Provider, "after", now.Sub(b.toldOf).Round(time.Second))
		b.toldOf = time.Time{}
	}
	b.outage = outage{}
}
