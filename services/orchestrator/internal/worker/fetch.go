package worker

import (
	"context"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
)

// followQueues calls begin with each sweep that has jobs and no fetcher in this process.
func (w *Worker) followQueues(ctx context.Context, begin func(sweepID string)) error {
	return w.peers.Bus.FollowQueues(ctx, w.lookEvery, func(sweepID string) {
		if w.scheduler.attach(sweepID) {
			begin(sweepID)
		}
	}, func(err error) {
		w.peers.Logger.Warn("cannot see all queues, retrying", "error", err)
	})
}

// fetch moves the jobs of a sweep from its queue to the scheduler until the sweep has none. It
// waits for NATS to reconnect after connection errors.
func (w *Worker) fetch(ctx context.Context, sweepID string) {
	var queue *bus.Queue
	for {
		n, announcements, ok := w.scheduler.capacity(ctx, sweepID)
		if !ok {
			return
		}
		more, err := w.fetchSome(ctx, sweepID, &queue, n)
		if err != nil && ctx.Err() == nil {
			w.peers.Logger.Warn("cannot fetch jobs, retrying", "sweep", sweepID, "error", err)
			queue = nil // the server may have removed its consumer
			rpc.Sleep(ctx, time.Second)
		}
		if !more && err == nil && w.scheduler.detach(sweepID, announcements) {
			return
		}
	}
}

// fetchSome fetches up to n jobs of a sweep and opens the queue if it is nil. more is false if the
// sweep has no job, here or elsewhere.
func (w *Worker) fetchSome(ctx context.Context, sweepID string, queue **bus.Queue, n int) (more bool, err error) {
	if *queue == nil {
		if *queue, err = w.peers.Bus.OpenQueue(ctx, sweepID, w.cfg.Lease); err != nil {
			return true, err
		}
	}
	deliveries, err := (*queue).Fetch(ctx, n, w.fetchWait)
	for _, delivery := range deliveries {
		w.hold(delivery)
	}
	w.scheduler.offer(deliveries)
	if err != nil || len(deliveries) > 0 {
		return true, err
	}
	if more, err = w.peers.Bus.HasJobs(ctx, sweepID); !more || err != nil {
		return more, err
	}
	reset, err := w.peers.Bus.ResetJobs(ctx, sweepID)
	if reset {
		w.peers.Logger.Warn("jobs that were taken for done are handed out again", "sweep", sweepID)
		*queue = nil
	}
	return true, err
}
