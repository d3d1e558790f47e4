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
	// errHeld says that a turn waits for a provider's budget. Asking again is no attempt: nothing
	// failed.
	errHeld = errors.New("turn waits for its budget")
	// errSpent says that the rollout's sweep has spent what it may.
	errSpent = errors.New("the sweep has spent what it may")
)

// holdPause is the pause before a turn that was held is asked again. The gateway has waited as long
// as it could.
const holdPause = 100 * time.Millisecond

// checkBudget reads what the rollout's sweep may spend: errSpent if that is used up. Only models
// spend.
func (r *runner) checkBudget(ctx context.Context) error {
	if r.rollout.GetReplay() || r.rollout.GetAgent().GetModel() == nil && r.rollout.GetUser().GetModel() == nil {
		return nil
	}
	spending, err := r.sharedSpending(ctx, r.rollout.GetSweepId())
	if err != nil {
		return err
	}
	if spending.GetExhausted() != "" {
		return errSpent
	}
	r.limit = spending.GetLimit()
	return nil
}

// sharedSpending reads what a sweep may spend, once for all its rollouts that ask at the same time.
// The answer may be as old as the read that was under way when one joined it: held and parkJob,
// which act on it, read anew. It is shared: do not change it.
func (w *Worker) sharedSpending(ctx context.Context, sweepID string) (*busv1.SweepSpending, error) {
	// Whoever comes first reads, within its own context; the bus bounds that, and so the wait of
	// the others.
	read, err, _ := w.reads.Do(sweepID, func() (any, error) {
		spending, _, err := w.peers.Bus.Spending(ctx, sweepID)
		return spending, err
	})
	if errors.Is(err, context.Canceled) && ctx.Err() == nil { // it was another rollout's context that ended
		read, _, err = w.peers.Bus.Spending(ctx, sweepID)
	}
	if err != nil {
		return nil, err
	}
	spending, _ := read.(*busv1.SweepSpending) // nothing else is read
	return spending, nil
}

// held returns errHeld, or errSpent once all workers and the sweep's watchers can know it.
func (r *runner) held(ctx context.Context, hold *agentgwv1.Hold) error {
	if !hold.GetSpent() {
		return errHeld
	}
	id := r.rollout.GetSweepId()
	spending, revision, err := r.peers.Bus.Spending(ctx, id)
	if err != nil {
		return err
	}
	if spending.GetExhausted() == "" && proto.Equal(spending.GetLimit(), r.limit) {
		err = r.peers.Bus.SetSpending(ctx, id, &busv1.SweepSpending{Limit: r.limit, Exhausted: hold.GetDetail()}, revision)
		if err != nil && !errors.Is(err, bus.ErrFenced) { // fenced: somebody else has said so, or the limit is another now
			return err
		}
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
	spending, _, err := w.peers.Bus.Spending(ctx, delivery.Rollout.GetSweepId())
	if err == nil && spending.GetExhausted() != "" {
		w.peers.Logger.Debug("rollout parked", "rollout", id, "reason", spending.GetExhausted())
		return
	}
	again := &busv1.Job{Rollout: delivery.Rollout, Parallel: int32(delivery.Parallel), Round: delivery.Round}
	if err := w.peers.Bus.Enqueue(ctx, []*busv1.Job{again}); err != nil {
		w.peers.Logger.Warn("job not queued again: create its sweep again", "rollout", id, "error", err)
	}
}
