package agentgw

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// errCancelled says that the sweep of a turn was cancelled.
var errCancelled = errors.New("the sweep was cancelled")

// cancellations knows which sweeps are cancelled, and ends their turns: no request of them begins
// any more, whatever it waits for. The gateway does not leave that to the orchestrators, which may
// hang. Safe for concurrent use; the zero value knows of none.
type cancellations struct {
	mu    sync.Mutex
	last  map[string]int32 // the last round that is cancelled, by sweep
	turns map[string]map[*running]bool
}

// running is a turn of a sweep.
type running struct {
	round  int32
	cancel context.CancelCauseFunc
}

// begin returns a context that ends with errCancelled when the sweep of a turn is cancelled. end is
// to be called when the turn is over.
func (c *cancellations) begin(ctx context.Context, req *agentgwv1.RespondRequest) (turn context.Context, end func()) {
	sweep, _, _ := strings.Cut(req.GetRolloutId(), ".")
	ctx, cancel := context.WithCancelCause(ctx)
	r := &running{round: req.GetRound(), cancel: cancel}
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.last[sweep]; ok && r.round <= last {
		cancel(errCancelled)
		return ctx, func() {}
	}
	if c.turns == nil {
		c.turns = make(map[string]map[*running]bool)
	}
	if c.turns[sweep] == nil {
		c.turns[sweep] = make(map[*running]bool)
	}
	c.turns[sweep][r] = true
	return ctx, func() { c.end(sweep, r) }
}

func (c *cancellations) end(sweep string, r *running) {
	r.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.turns[sweep], r); len(c.turns[sweep]) == 0 {
		delete(c.turns, sweep)
	}
}

// tell notes that the rounds of a sweep up to one are cancelled, and ends their turns.
func (c *cancellations) tell(sweep string, round int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = make(map[string]int32)
	}
	c.last[sweep] = round
	for r := range c.turns[sweep] {
		if r.round <= round {
			r.cancel(errCancelled)
		}
	}
}

// held returns a hold in place of the error of a turn that ended because its sweep was cancelled:
// an orchestrator that does not know yet asks again.
func held(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errCancelled) {
		return err
	}
	return model.NewThrottled(errCancelled)
}
