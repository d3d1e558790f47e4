package worker

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/pause"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

var (
	// errThrottled: a turn waits for a provider's budget. Asking again does not count as an attempt.
	errThrottled = errors.New("turn waits for its budget")
	// errSpendLimit: the rollout's sweep has reached its spend limit.
	errSpendLimit = errors.New("the sweep has spent what it may")
)

// throttlePause is the pause before a throttled turn is retried. The gateway has already waited
// as long as it could.
const throttlePause = 100 * time.Millisecond

// checkBudget sets the spend limit of the rollout's turns. It returns errSpendLimit if the sweep
// has reached it. Only models spend.
func (r *runner) checkBudget(ctx context.Context) error {
	if r.rollout.GetReplay() || r.rollout.GetAgent().GetModel() == nil && r.rollout.GetUser().GetModel() == nil {
		return nil
	}
	control := r.control(r.rollout.GetSweepId())
	if control == nil || control.GetSpendLimit() != nil { // the watched state may be stale
		var err error
		if control, err = r.peers.Bus.Control(ctx, r.rollout.GetSweepId()); err != nil {
			return err
		}
	}
	if control.GetExhausted() != "" {
		return errSpendLimit
	}
	r.limit = control.GetSpendLimit()
	return nil
}

// throttled returns errThrottled, or errSpendLimit after publishing that for workers and watchers
// of the sweep. A limit that has changed meanwhile holds for the next attempt.
func (r *runner) throttled(ctx context.Context, throttled *agentgwv1.Throttled) error {
	if !throttled.GetSpendLimitReached() {
		return errThrottled
	}
	changed := false
	err := r.peers.Bus.UpdateControl(ctx, r.rollout.GetSweepId(), func(control *busv1.SweepControl) bool {
		limit := control.GetSpendLimit()
		if changed = !proto.Equal(limit, r.limit); changed {
			r.limit = limit
			return false
		}
		if control.GetExhausted() != "" {
			return false // already published
		}
		control.Exhausted = throttled.GetDetail()
		return true
	})
	switch {
	case err != nil:
		return err
	case changed:
		return errThrottled
	}
	return errSpendLimit
}

// wait pauses before a turn is retried.
func (r *runner) wait(ctx context.Context) error {
	if !pause.For(ctx, throttlePause) {
		return ctx.Err()
	}
	return nil
}

// parkJob removes a job from the queue whose sweep has reached its spend limit. The rollout has no
// result, so creating the sweep again with a higher limit queues it, and its log continues. If that
// has happened meanwhile, parkJob queues the job itself.
func (w *Worker) parkJob(ctx context.Context, delivery *bus.Delivery) {
	id := delivery.Rollout.GetId()
	w.drop(delivery)
	if err := delivery.DoubleAck(ctx); err != nil {
		w.peers.Logger.Warn("job comes again after its lease", "rollout", id, "error", err)
		return
	}
	control, err := w.peers.Bus.Control(ctx, delivery.Rollout.GetSweepId())
	if err == nil && control.GetExhausted() != "" {
		w.metrics.parked.Add(ctx, 1)
		w.peers.Logger.Debug("rollout parked", "rollout", id, "reason", control.GetExhausted())
		return
	}
	parked := &busv1.Job{Rollout: delivery.Rollout, Parallel: int32(delivery.Parallel), Round: delivery.Round}
	if err := w.peers.Bus.Enqueue(ctx, []*busv1.Job{parked}); err != nil {
		w.peers.Logger.Warn("job not queued again: create its sweep again", "rollout", id, "error", err)
	}
}
