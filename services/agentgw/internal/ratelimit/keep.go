package ratelimit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

const (
	// conflictFirst and conflictMax bound the pause after another replica was faster.
	conflictFirst, conflictMax = time.Millisecond, 50 * time.Millisecond
	// troubleFirst and troubleMax bound the pause after the store could not be reached.
	troubleFirst, troubleMax = 100 * time.Millisecond, 2 * time.Second
	// partingTimeout bounds how long giving everything back may take.
	partingTimeout = 2 * time.Second
)

// errDocument says that a shared document cannot be read.
var errDocument = errors.New("shared budget cannot be read")

// change applies a report to a document and returns the new document and what takes the answer, to
// be called under the lock once the document is stored. It may be called more than once.
type change func(raw []byte, now int64) (next []byte, accept func(), err error)

// kept is this replica's side of a shared document. All is called under the limiter's lock.
type kept interface {
	state() *keeping
	// report returns what to tell; last says that it is the last time.
	report(now time.Time, last bool) change
	// plan returns when the next report is due if nothing asks for it earlier; idle says that it is
	// not needed any more.
	plan(now time.Time) (due time.Time, idle bool)
}

// keeping is what all sides of a document have.
type keeping struct {
	document string
	replica  string
	seq      uint64
	sentAt   time.Time
	active   time.Time // last use
	retry    time.Time // before this asking again is no use
	trouble  error     // why the last report was not booked
	wake     chan struct{}
	forget   func()          // lets go of it
	refuse   func(err error) // fails whoever waits
}

func newKeeping(g *Limiter, document string) keeping {
	return keeping{document: document, replica: g.name(), wake: make(chan struct{}, 1)}
}

func (k *keeping) state() *keeping { return k }

// ask wants a report to be made as soon as it may be of use.
func (k *keeping) ask() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// keep makes reports from a goroutine until it is idle or the limiter is closed.
func (g *Limiter) keep(k kept) {
	g.keeper.Go(func() {
		defer g.part(k)
		failures := 0
		var due time.Time
		for g.await(k, due) {
			if err := g.tell(g.ctx, k, false); err != nil {
				if failures++; failures == 1 && g.ctx.Err() == nil {
					g.logger.Warn("shared budget not reached, trying again", "document", k.state().document, "error", err)
				}
				rest(g.ctx, backoff(failures-1, troubleFirst, troubleMax, g.cfg.Jitter()))
				due = time.Time{}
				continue
			}
			failures = 0
			var idle bool
			if due, idle = g.plan(k); idle {
				return
			}
		}
	})
}

// await waits until a report is due or, if one is asked for meanwhile, until it is of use. It
// returns false if the limiter is closed first.
func (g *Limiter) await(k kept, due time.Time) bool {
	for wait := time.Until(due); wait > 0; {
		timer := time.NewTimer(wait)
		select {
		case <-g.ctx.Done():
		case <-k.state().wake:
			wait = g.early(k, due)
		case <-timer.C:
			wait = 0
		}
		timer.Stop()
		if g.ctx.Err() != nil {
			return false
		}
	}
	return g.ctx.Err() == nil
}

// early returns how long a report that was asked for has to wait to be of use.
func (g *Limiter) early(k kept, due time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Until(earlier(k.state().retry, due))
}

// plan returns when the next report is due. What is idle is let go of.
func (g *Limiter) plan(k kept) (due time.Time, idle bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	due, idle = k.plan(time.Now())
	if idle {
		k.state().forget()
	}
	return due, idle
}

// part makes the last report.
func (g *Limiter) part(k kept) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.ctx), partingTimeout)
	defer cancel()
	if err := g.tell(ctx, k, true); err != nil {
		g.logger.Warn("share of a budget is given back when it expires", "document", k.state().document, "error", err)
	}
}

// tell makes a report and takes the answer. A report of which it is not known whether it was booked
// is made again.
func (g *Limiter) tell(ctx context.Context, k kept, last bool) error {
	g.mu.Lock()
	apply := k.report(time.Now(), last)
	g.mu.Unlock()
	accept, err := g.swap(ctx, k.state().document, apply)
	g.mu.Lock()
	defer g.mu.Unlock()
	k.state().trouble = err
	if errors.Is(err, errDocument) {
		k.state().refuse(err)
	}
	if err == nil {
		accept()
	}
	return err
}

// swap changes a document, again and again while other replicas are faster.
func (g *Limiter) swap(ctx context.Context, name string, apply change) (accept func(), err error) {
	for n := 0; ; n++ {
		raw, revision, err := g.store.Read(ctx, name)
		if err != nil {
			return nil, err
		}
		next, accept, err := apply(raw, time.Now().UnixMilli())
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", name, errDocument, err)
		}
		err = g.store.Write(ctx, name, next, revision)
		if err == nil {
			return accept, nil
		}
		if !errors.Is(err, bus.ErrFenced) {
			return nil, err
		}
		if !rest(ctx, backoff(n, conflictFirst, conflictMax, g.cfg.Jitter())) {
			return nil, ctx.Err()
		}
	}
}

func encode(document any) ([]byte, error) {
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("write budget: %w", err)
	}
	return raw, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// rest waits; false if ctx ends first. It makes no timer that is due at once: several of those at
// the same time crash the race detector in synctest bubbles (golang/go#78156).
func rest(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
