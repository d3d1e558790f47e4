package attach

import (
	"context"
	"fmt"
	"time"
)

const (
	// noticeAfter is how long a turn waits for an agent before the log says so.
	noticeAfter = 3 * time.Second
	// noticeEvery is the interval of further log lines.
	noticeEvery = time.Minute
	// maxNoticed bounds the names in lastNotice.
	maxNoticed = 1 << 10
)

// notify logs that a turn has waited since start for an agent. It logs each name once a
// minute.
func (r *Registry) notify(ctx context.Context, at Address, start time.Time) {
	now := time.Now()
	if now.Sub(start) < noticeAfter {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.lastNotice[at.Name]; ok && now.Sub(last) < noticeEvery {
		return
	}
	if len(r.lastNotice) >= maxNoticed {
		clear(r.lastNotice)
	}
	r.lastNotice[at.Name] = now
	reason := "nobody is attached under this name"
	if at.Secret != "" {
		reason += " with the token of the run"
	}
	if deadline, ok := ctx.Deadline(); ok {
		reason += fmt.Sprintf("; this turn is given up in %s", deadline.Sub(now).Round(time.Second))
	}
	r.log.Warn("waiting for agent", "agent", at.Name, "reason", reason)
}
