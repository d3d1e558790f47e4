package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/pause"
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

// patientLoadWait is how long a busy orchestrator may take to say what it holds.
const patientLoadWait = 2 * time.Second

// fetcher moves the jobs of a sweep from its queue to the scheduler.
type fetcher struct {
	*Worker
	sweepID string
	queue   *bus.Queue // nil until it is open
	// deliveries is the number of deliveries at the last look at an idle queue. abandoned is the time
	// since when it has not changed although jobs were abandoned, zero if there were none.
	deliveries uint64
	abandoned  time.Time
}

// lookForPause reads whether a sweep is paused of which the worker has received nothing yet. So a
// worker that starts plays nothing of a paused sweep.
func (w *Worker) lookForPause(ctx context.Context, sweepID string) {
	for w.control(sweepID) == nil && ctx.Err() == nil {
		control, err := w.peers.Bus.Control(ctx, sweepID)
		if control.GetPaused() {
			w.scheduler.pauseUnlessKnown(sweepID)
		}
		if err == nil {
			return
		}
		w.peers.Logger.Warn("cannot read whether the sweep is paused, retrying", "sweep", sweepID, "error", err)
		pause.For(ctx, time.Second)
	}
}

// fetch moves the jobs of a sweep from its queue to the scheduler until the sweep has none. It
// waits for NATS to reconnect after connection errors.
func (w *Worker) fetch(ctx context.Context, sweepID string) {
	f := &fetcher{Worker: w, sweepID: sweepID}
	w.lookForPause(ctx, sweepID)
	for {
		n, announcements, ok := w.scheduler.capacity(ctx, sweepID)
		if !ok {
			return
		}
		fetching, cancel := w.scheduler.fetchContext(ctx, sweepID)
		more, err := f.fetchSome(fetching, n)
		paused := fetching.Err() != nil && ctx.Err() == nil
		cancel()
		if paused {
			f.abandoned = time.Time{} // nobody gets jobs of a paused sweep
			continue
		}
		if err != nil && ctx.Err() == nil {
			w.peers.Logger.Warn("cannot fetch jobs, retrying", "sweep", sweepID, "error", err)
			f.queue = nil // the server may have removed its consumer
			pause.For(ctx, time.Second)
		}
		if !more && err == nil && w.scheduler.detach(sweepID, announcements) {
			return
		}
	}
}

// fetchSome fetches up to n jobs. more is false if the sweep has no job, here or elsewhere.
func (f *fetcher) fetchSome(ctx context.Context, n int) (more bool, err error) {
	if f.queue == nil {
		if f.queue, err = f.peers.Bus.OpenQueue(ctx, f.sweepID, f.cfg.Lease); err != nil {
			return true, err
		}
	}
	deliveries, err := f.queue.Fetch(ctx, n, f.fetchWait)
	for _, delivery := range deliveries {
		f.hold(delivery)
		if delivery.Attempt > 1 {
			f.metrics.redelivered.Add(ctx, 1)
		}
	}
	f.release(f.scheduler.offer(f.sweepID, deliveries)...)
	if err != nil || len(deliveries) > 0 {
		return true, err
	}
	if more, err = f.peers.Bus.HasJobs(ctx, f.sweepID); !more || err != nil {
		return more, err
	}
	fault, err := f.fault(ctx)
	if fault == "" || err != nil {
		return true, err
	}
	f.peers.Logger.Warn("the queue hands out its jobs again", "sweep", f.sweepID, "reason", fault)
	f.queue, f.abandoned = nil, time.Time{}
	return true, f.peers.Bus.ResetJobs(ctx, f.sweepID)
}

// fault returns why the server will not deliver the jobs of an idle queue in time, "" if it will.
// An orchestrator that gets a job twice, or late, does no harm: the log has one owner.
func (f *fetcher) fault(ctx context.Context) (string, error) {
	backlog, abandoned, err := f.look(ctx, bus.LoadWait)
	switch {
	case err != nil:
		return "", err
	case backlog.Delivered+backlog.Queued == 0:
		// The stream, but not the server's state of the queue, has lost its tail, unless the last job was
		// acknowledged just now.
		if more, err := f.peers.Bus.HasJobs(ctx, f.sweepID); !more || err != nil {
			return "", err
		}
		return "jobs that are stored were taken for done", nil
	case abandoned == 0:
		f.abandoned = time.Time{}
	case f.abandoned.IsZero() || backlog.Deliveries != f.deliveries:
		f.abandoned = time.Now()
	case time.Since(f.abandoned) > f.queue.Lease*3/2: // a monotonic time; the server compares times of its clock
		if _, abandoned, err = f.look(ctx, patientLoadWait); abandoned == 0 || err != nil {
			return "", err
		}
		return fmt.Sprintf("%d jobs that nobody holds were not delivered for %s, longer than their lease of %s: the NATS server's clock has gone back",
			abandoned, time.Since(f.abandoned).Round(time.Second), f.queue.Lease), nil
	}
	f.deliveries = backlog.Deliveries
	return "", nil
}

// look returns the state of the queue, and the number of delivered jobs that no orchestrator holds
// which answers within wait. It asks them first, so that jobs that end meanwhile count as held.
func (f *fetcher) look(ctx context.Context, wait time.Duration) (backlog bus.Backlog, abandoned int, err error) {
	load, err := f.peers.Bus.Load(ctx, f.sweepID, wait)
	if err != nil {
		return bus.Backlog{}, 0, err
	}
	backlog, err = f.peers.Bus.Backlog(ctx, f.sweepID)
	return backlog, backlog.Abandoned(load), err
}
