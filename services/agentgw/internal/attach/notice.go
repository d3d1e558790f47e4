package attach

import (
	"context"
	"fmt"
	"time"
)

const (
	// noticeAfter is how long a turn waits for an agent before that is told.
	noticeAfter = 3 * time.Second
	// noticeEvery is how often it is told while it lasts.
	noticeEvery = time.Minute
	// maxTold bounds the names of which it is known when they were told of.
	maxTold = 1 << 10
)

// notify tells the log that a turn waits, since began, for an agent of the name to attach itself:
// once a minute for all turns that do.
func (r *Registry) notify(ctx context.Context, name string, began time.Time) {
	now := time.Now()
	if now.Sub(began) < noticeAfter {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.told[name]; ok && now.Sub(last) < noticeEvery {
		return
	}
	if len(r.told) >= maxTold {
		clear(r.told)
	}
	r.told[name] = now
	reason := "nobody is attached under this name"
	if deadline, ok := ctx.Deadline(); ok {
		reason += fmt.Sprintf("; this turn is given up in %s", deadline.Sub(now).Round(time.Second))
	}
	r.log.Warn("waiting for agent", "agent", name, "reason", reason)
}
