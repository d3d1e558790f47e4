package agentgw

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// errCancelled: the sweep of the turn was cancelled.
var errCancelled = errors.New("the sweep was cancelled")

// cancellations tracks cancelled sweeps and ends their turns, so that no further request of them
// begins. The gateway does not rely on the orchestrators for that, because they may hang. Safe for
// concurrent use. The zero value has no cancelled sweep.
type cancellations struct {
	mu            sync.Mutex
	lastCancelled map[string]int32 // last cancelled round by sweep
	turns         map[string]map[*activeTurn]bool
}

// activeTurn is a turn of a sweep that has begun and not ended.
type activeTurn struct {
	round  int32
	cancel context.CancelCauseFunc
}

// begin returns a context that ends with errCancelled when the turn's sweep is cancelled. The
// caller calls end when the turn is over.
func (c *cancellations) begin(ctx context.Context, req *agentgwv1.RespondRequest) (turn context.Context, end func()) {
	sweep, _, _ := strings.Cut(req.GetRolloutId(), ".")
	ctx, cancel := context.WithCancelCause(ctx)
	r := &activeTurn{round: req.GetRound(), cancel: cancel}
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.lastCancelled[sweep]; ok && r.round <= last {
		cancel(errCancelled)
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

// throttleIfCancelled replaces the error of a turn that ended because its sweep was cancelled by a
// *model.Throttled. An orchestrator that does not know of the cancellation retries.
func throttleIfCancelled(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errCancelled) {
		return err
	}
	return model.NewThrottled(errCancelled)
}
