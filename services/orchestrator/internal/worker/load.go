package worker

import (
	"context"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// serveLoad tells those who ask what this worker does for a sweep, until ctx is done.
func (w *Worker) serveLoad(ctx context.Context) error {
	stop, err := w.peers.Bus.ServeLoad(w.load)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return stop()
}

// load returns what this worker does for a sweep, or for all if sweepID is empty.
func (w *Worker) load(sweepID string) *busv1.Load {
	load := &busv1.Load{}
	running, ahead := w.scheduler.counts(sweepID)
	load.Running, load.Ahead = int32(running), int32(ahead)
	w.mu.Lock()
	defer w.mu.Unlock()
	for delivery := range w.waiting {
		if sweepID == "" || delivery.Rollout.GetSweepId() == sweepID {
			load.Scoring++
		}
	}
	return load
}
