package governor

import (
	"cmp"
	"fmt"
	"time"
)

const (
	// noticeAfter is how long requests are refused before that is told: shorter times are how budgets learn.
	noticeAfter = 2 * time.Second
	// noticeEvery is how often it is told while it lasts.
	noticeEvery = time.Minute
)

// notice is what the log was told about waits for a provider.
type notice struct {
	last    time.Time // when it was told of one
	waiting bool      // and not of its end
}

// notify tells the log that a provider answers no request and has refused some: soon after that began, and again and again while it lasts and
// somebody asks. It is called about once a second, and after each request that was refused or failed.
func (b *budget) notify(now time.Time) {
	quiet := b.running+b.queue.n == 0 && now.Sub(b.active) > noticeEvery
	if b.drought.refused == 0 || quiet || now.Sub(b.drought.began) < noticeAfter || now.Sub(b.notice.last) < noticeEvery {
		return
	}
	left := b.drought.newest().Add(b.g.cfg.MaxWait).Sub(now)
	if left <= 0 {
		return // the turns that fail say so
	}
	b.notice = notice{last: now, waiting: true}
	b.g.logger.Warn("waiting for provider", "provider", b.key.Provider, "reason", fmt.Sprintf("%s; asked again in %s, given up in %s",
		cmp.Or(b.drought.reason, "it refuses requests (429, 503, 529)"), max(b.shut().Sub(now), 0).Round(time.Second), left.Round(time.Second)))
}

// answers ends a drought, and tells the log if that knows of it.
func (b *budget) answers(now time.Time) {
	if b.notice.waiting {
		b.notice.waiting = false
		b.g.logger.Warn("provider answers again", "provider", b.key.Provider, "after", now.Sub(b.drought.began).Round(time.Second))
	}
	b.drought = drought{}
}
