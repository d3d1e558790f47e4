package ratelimit

import (
	"cmp"
	"fmt"
	"time"
)

const (
	// noticeAfter is how long requests are refused before that is told: shorter times are how
	// budgets learn.
	noticeAfter = 2 * time.Second
	// noticeEvery is how often it is told while it lasts.
	noticeEvery = time.Minute
)

// notice is what the log was told about waits for a provider.
type notice struct {
	last    time.Time // when it was told of one
	waiting bool      // and not of its end
	began   time.Time // the wait
}

// begin notes that the log knows of a wait.
func (n *notice) begin(began time.Time) {
	if !n.waiting {
		n.waiting, n.began = true, began
	}
}

// pause is a time in which nothing may be asked, and why.
type pause struct {
	since time.Time // zero if there is none
	why   string
}

// notify tells the log that requests wait for a provider: soon after that began, and again and
// again while it lasts and somebody asks. It is called about once a second, and after each request
// that was refused or failed.
func (b *budget) notify(now time.Time) {
	if now.Sub(b.notice.last) < noticeEvery {
		return
	}
	told := b.resting
	if b.outage.refused > 0 {
		told = b.refuses
	}
	began, reason := told(now)
	if reason == "" {
		return
	}
	b.notice.last = now
	b.notice.begin(began)
	b.g.logger.Warn("waiting for provider", "provider", b.key.Provider, "reason", reason)
}

// refuses says since when and how a provider answers no request and has refused some; the reason is
// empty if there is nothing to tell.
func (b *budget) refuses(now time.Time) (began time.Time, reason string) {
	quiet := b.running+b.queue.n == 0 && now.Sub(b.active) > noticeEvery
	if quiet || now.Sub(b.outage.began) < noticeAfter {
		return began, ""
	}
	left := b.outage.newest().Add(b.g.cfg.MaxWait).Sub(now)
	if left <= 0 {
		return began, "" // the turns that fail say so
	}
	return b.outage.began, fmt.Sprintf("%s; asked again in %s, given up in %s", cmp.Or(b.outage.reason, "it refuses requests (429, 503, 529)"),
		max(b.shut().Sub(now), 0).Round(time.Second), left.Round(time.Second))
}

// resting says since when and why requests wait for a pause to be over, where no refusal here tells
// of it.
func (b *budget) resting(now time.Time) (began time.Time, reason string) {
	waits := b.queue.n > 0 || now.Sub(b.held) <= noticeEvery
	if !waits || !b.pauses(now) || now.Sub(b.pause.since) < noticeAfter {
		return began, ""
	}
	return b.pause.since, fmt.Sprintf("it asked for a pause: %s; asked again in %s", cmp.Or(b.pause.why, "no details"), b.paused.Sub(now).Round(time.Second))
}

// pauses says whether requests have to wait for a pause that is worth telling.
func (b *budget) pauses(now time.Time) bool { return now.Before(b.paused) && !b.pause.since.IsZero() }

// answers ends an outage, and tells the log if that knows of it and others may be asked, too.
func (b *budget) answers(now time.Time) {
	if b.notice.waiting && b.breaker.opened == 0 && !b.pauses(now) {
		b.notice.waiting = false
		b.g.logger.Warn("provider answers again", "provider", b.key.Provider, "after", now.Sub(b.notice.began).Round(time.Second))
	}
	b.outage = outage{}
}
