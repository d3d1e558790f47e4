package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

const (
	// resultWait is how long a result may take before the worker requests it and logs that.
	resultWait = 10 * time.Second
	// resultBatch bounds the results that are requested at a time.
	resultBatch = 100
)

// errNoResult: no evaluator has stored a result in time.
var errNoResult = errors.New("no evaluator has stored a result")

// endedRollout is an ended rollout without a result.
type endedRollout struct {
	delivery *bus.Delivery
	since    time.Time
}

// awaitResult records that a rollout has ended, unless its result is stored.
func (w *Worker) awaitResult(delivery *bus.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, waits := w.waiting[delivery]; !waits && slices.Contains(w.deliveries[delivery.Rollout.GetId()], delivery) {
		w.waiting[delivery] = time.Now()
	}
}

// requestResults requests overdue results, logs that, and fails rollouts whose results never
// arrive, until ctx is done.
func (w *Worker) requestResults(ctx context.Context) error {
	ticker := time.NewTicker(w.resultWait)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		overdue := w.overdue()
		if len(overdue) == 0 {
			continue
		}
		first := overdue[0].delivery.Rollout.GetId()
		w.peers.Logger.Warn("waiting for results", "rollouts", len(overdue), "first", first, "stream", w.peers.Bus.LogStream(first),
			"longest", time.Since(overdue[0].since).Round(time.Second))
		for _, waits := range overdue[:min(len(overdue), resultBatch)] {
			if err := w.requestResult(ctx, waits); err != nil && ctx.Err() == nil {
				w.peers.Logger.Warn("result not asked for, retrying", "rollout", waits.delivery.Rollout.GetId(), "error", err)
			}
		}
	}
}

// requestScore requests the result of a rollout that had ended when this worker took it over. It
// announces the table versions again, because the result may wait for lost ones.
func (r *runner) requestScore(ctx context.Context) error {
	// The rollout may have its score by now, with which its trace ends.
	untraced := trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	if err := r.restoreSession(untraced); ctx.Err() != nil {
		return err
	} else if err != nil {
		r.peers.Logger.Warn("table versions not announced again", "rollout", r.rollout.GetId(), "error", err)
	}
	return r.peers.Bus.RequestScore(r.rollout, r.delivery.Round)
}

// overdue returns the rollouts whose results are overdue, the oldest first.
func (w *Worker) overdue() []endedRollout {
	w.mu.Lock()
	defer w.mu.Unlock()
	var overdue []endedRollout
	for delivery, since := range w.waiting {
		if time.Since(since) >= w.resultWait {
			overdue = append(overdue, endedRollout{delivery, since})
		}
	}
	slices.SortFunc(overdue, func(a, b endedRollout) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.delivery.Rollout.GetId(), b.delivery.Rollout.GetId()))
	})
	return overdue
}

// requestResult requests scoring of a rollout whose log has ended. It requeues a rollout whose log
// has lost its end.
func (w *Worker) requestResult(ctx context.Context, waits endedRollout) error {
	delivery := waits.delivery
	_, err := w.peers.Bus.RoundResult(ctx, delivery.Rollout.GetId(), delivery.Round)
	if err == nil { // followResults has missed it
		w.finish(delivery.Rollout.GetId(), delivery.Round)
		return nil
	}
	if !errors.Is(err, bus.ErrNotFound) {
		return err
	}
	if time.Since(waits.since) > w.cfg.ResultTimeout {
		return w.failUnscored(ctx, delivery)
	}
	log, err := w.peers.Bus.ReadLog(ctx, delivery.Rollout.GetId())
	if err == nil {
		if state, foldErr := rollout.Fold(log.Entries); foldErr == nil && state.Round() == delivery.Round && state.End() == nil {
			w.drop(delivery)
			return delivery.Nak(0)
		}
	} else if !errors.Is(err, bus.ErrDamaged) {
		return err
	}
	return w.peers.Bus.RequestScore(delivery.Rollout, delivery.Round)
}

// failUnscored has a failure stored as the result of a rollout that no evaluator can score.
func (w *Worker) failUnscored(ctx context.Context, delivery *bus.Delivery) error {
	end := infrastructureEnd(fmt.Errorf("%w within %s", errNoResult, w.cfg.ResultTimeout))
	return w.peers.Bus.RequestFailure(ctx, delivery.Rollout, delivery.Round, end)
}
