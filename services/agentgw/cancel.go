package agentgw

import (
	"context"
	"errors"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

var (
	// errCancelled: the sweep of the turn was cancelled.
	errCancelled = errors.New("the sweep was cancelled")
	// errPaused: the sweep of the turn is paused.
	errPaused = errors.New("the sweep is paused")
)

// cancellations tracks cancelled and paused sweeps and ends their turns, so that no further request
// of them begins. The gateway does not rely on the orchestrators for that, because they may hang.
// Safe for concurrent use. The zero value has no such sweep.
type cancellations struct {
	mu            sync.Mutex
	lastCancelled map[string]int32 // last cancelled round by sweep
	paused        map[string]bool
	turns         map[string]map[*activeTurn]bool
}

// activeTurn is a turn of a sweep that has begun and not ended.
type activeTurn struct {
	round int32
	// model says that a model plays it. A pause then ends what waits, and a request that the provider
	// has got finishes. A pause lets other players finish.
	model  bool
	cancel context.CancelCauseFunc
}

// begin returns a context that ends with errCancelled or errPaused when the turn's sweep is
// cancelled or paused. The caller calls end when the turn is over.
func (c *cancellations) begin(ctx context.Context, req *agentgwv1.RespondRequest) (turn context.Context, end func()) {
	sweep := bus.SweepOf(req.GetRolloutId())
	ctx, cancel := context.WithCancelCause(ctx)
	r := &activeTurn{round: req.GetRound(), model: req.GetPlayer().GetModel() != nil, cancel: cancel}
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.lastCancelled[sweep]; ok && r.round <= last {
		cancel(errCancelled)
		return ctx, func() {}
	}
	if c.paused[sweep] {
		cancel(errPaused)
		return ctx, func() {}
	}
	if c.turns == nil {
		c.turns = make(map[string]map[*activeTurn]bool)
	}
	if c.turns[sweep] == nil {
		c.turns[sweep] = make(map[*activeTurn]bool)
	}
	c.turns[sweep][r] = true
	return ctx, func() { c.end(sweep, r) }
}

func (c *cancellations) end(sweep string, r *activeTurn) {
	r.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.turns[sweep], r); len(c.turns[sweep]) == 0 {
		delete(c.turns, sweep)
	}
}

// apply applies the control state of a sweep. That of a deleted one is empty: another sweep may
// have its id once its mark is removed.
func (c *cancellations) apply(sweep string, control *busv1.SweepControl) {
	if control.CancelledRound != nil {
		c.markCancelled(sweep, control.GetCancelledRound())
	} else {
		c.mu.Lock()
		delete(c.lastCancelled, sweep)
		c.mu.Unlock()
	}
	c.setPaused(sweep, control.GetPaused())
}

// markCancelled cancels the turns of a sweep up to and including a round, and those that come
// later.
func (c *cancellations) markCancelled(sweep string, round int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastCancelled == nil {
		c.lastCancelled = make(map[string]int32)
	}
	c.lastCancelled[sweep] = round
	for r := range c.turns[sweep] {
		if r.round <= round {
			r.cancel(errCancelled)
		}
	}
}

// setPaused pauses or continues a sweep.
func (c *cancellations) setPaused(sweep string, paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !paused {
		delete(c.paused, sweep)
		return
	}
	if c.paused == nil {
		c.paused = make(map[string]bool)
	}
	c.paused[sweep] = true
	for r := range c.turns[sweep] {
		if r.model {
			r.cancel(errPaused)
		}
	}
}

// throttleIfCancelled replaces the error of a turn that ended because its sweep was cancelled or
// paused by a *model.Throttled. An orchestrator that does not know of that retries.
func throttleIfCancelled(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || !errors.Is(cause, errCancelled) && !errors.Is(cause, errPaused) {
		return err
	}
	return model.NewThrottled(cause)
}
