package worker

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

var (
	// errHeld: a turn waits for a provider's budget. Asking again is no attempt: nothing failed.
	errHeld = errors.New("turn waits for its budget")
	// errSpent: the rollout's sweep has spent what it may.
	errSpent = errors.New("the sweep has spent what it may")
)

// holdPause is the pause before a turn that was held is asked again. The gateway has waited as long
// as it could.
const holdPause = 100 * time.Millisecond

// checkBudget notes what the rollout's sweep may spend: errSpent if that is used up. Only models
// spend.
func (r *runner) checkBudget(ctx context.Context) error {
	if r.rollout.GetReplay() || r.rollout.GetAgent().GetModel() == nil && r.rollout.GetUser().GetModel() == nil {
		return nil
	}
	control := r.watched(r.rollout.GetSweepId())
	if control == nil || control.GetSpendLimit() != nil { // what was heard may be a moment old
		var err error
		if control, err = r.peers.Bus.Control(ctx, r.rollout.GetSweepId()); err != nil {
			return err
		}
	}
	if control.GetExhausted() != "" {
		return errSpent
	}
	r.limit = control.GetSpendLimit()
	return nil
}

// held returns errHeld, or errSpent once all workers and the sweep's watchers can know it.
func (r *runner) held(ctx context.Context, hold *agentgwv1.Hold) error {
	if !hold.GetSpent() {
		return errHeld
	}
	err := r.peers.Bus.UpdateControl(ctx, r.rollout.GetSweepId(), func(control *busv1.SweepControl) bool {
		if control.GetExhausted() != "" || !proto.Equal(control.GetSpendLimit(), r.limit) {
			return false // somebody else has said so, or the limit is another now
		}
		control.Exhausted = hold.GetDetail()
		return true
	})
	if err != nil {
		return err
	}
	return errSpent
}

// wait lets a moment pass before a turn is asked again.
func (r *runner) wait(ctx context.Context) error {
	if !pause(ctx, holdPause) {
		return ctx.Err()
	}
	return nil
}

// parkJob takes a job off the queue whose sweep has spent what it may. The rollout has no result,
// so that creating the sweep again, with a higher limit, queues it again, and its log goes on where
// it was. Should that have happened meanwhile it is queued here.
func (w *Worker) parkJob(ctx context.Context, delivery *bus.Delivery) {
	id := delivery.Rollout.GetId()
	w.drop(delivery)
	if err := delivery.Done(ctx); err != nil {
		w.peers.Logger.Warn("job comes again after its lease", "rollout", id, "error", err)
		return
	}
	control, err := w.peers.Bus.Control(ctx, delivery.Rollout.GetSweepId())
	if err == nil && control.GetExhausted() != "" {
		w.peers.Logger.Debug("rollout parked", "rollout", id, "reason", control.GetExhausted())
		return
	}
	again := &busv1.Job{Rollout: delivery.Rollout, Parallel: int32(delivery.Parallel), Round: delivery.Round}
	if err := w.peers.Bus.Enqueue(ctx, []*busv1.Job{again}); err != nil {
		w.peers.Logger.Warn("job not queued again: create its sweep again", "rollout", id, "error", err)
	}
}
