package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/plan"
)

// WatchSweep implements OrchestratorService.
func (s *server) WatchSweep(req *orchestratorv1.WatchSweepRequest, stream orchestratorv1.OrchestratorService_WatchSweepServer) error {
	ctx, stop := context.WithCancel(stream.Context())
	defer stop()
	sweep, err := s.bus.Sweep(ctx, req.GetSweepId())
	if err == nil {
		err = checkSweep(ctx, sweep)
	}
	if err != nil {
		return statusOf(err)
	}
	control, err := s.bus.Control(ctx, sweep.GetId())
	if err != nil {
		return statusOf(err)
	}
	rounds := bus.Rounds(control.GetRounds())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	results, controls := make(chan *busv1.Result), make(chan *busv1.SweepControl)
	errCh := make(chan error, 2)
	group.Go(func() {
		errCh <- s.bus.FollowResults(ctx, sweep.GetId(), func(result *busv1.Result) error {
			if !isCurrent(sweep, rounds, result) {
				return nil
			}
			select {
			case results <- result:
			case <-ctx.Done():
			}
			return nil
		})
	})
	group.Go(func() {
		err := s.bus.WatchControl(ctx, sweep.GetId(), func(_ string, control *busv1.SweepControl) {
			select {
			case controls <- control:
			case <-ctx.Done():
			}
		})
		if errors.Is(err, bus.ErrForeign) {
			err = fmt.Errorf("%w: somebody else writes to this NATS server: stop that, then toolsandbox run --resume removes it and continues", err)
		}
		errCh <- err
	})
	w := &watch{
		server: s, stream: stream, sweep: sweep, rounds: rounds,
		progress: &orchestratorv1.SweepProgress{Total: int64(plan.Size(sweep)), Paused: control.GetPaused()}, sent: make(map[string]bool), end: &orchestratorv1.SweepEnd{},
	}
	return statusOf(w.relay(ctx, watchEvents{results, controls, errCh}))
}

// isCurrent reports whether a result is that of the last round of a rollout of the sweep.
func isCurrent(sweep *busv1.Sweep, rounds bus.Rounds, result *busv1.Result) bool {
	id := result.GetRollout().GetId()
	return result.GetRound() == rounds.OfID(id) && plan.Has(sweep, id)
}

// settlePoll is the interval of polling for running rollouts of a sweep that has reached its spend
// limit.
const settlePoll = 250 * time.Millisecond

// watchEvents are the event sources of a watch.
type watchEvents struct {
	results  <-chan *busv1.Result
	controls <-chan *busv1.SweepControl
	failed   <-chan error
}

// watch sends the events of a sweep to a client.
type watch struct {
	server   *server
	stream   orchestratorv1.OrchestratorService_WatchSweepServer
	sweep    *busv1.Sweep
	rounds   bus.Rounds // at the beginning of the watch: results of these rounds count
	progress *orchestratorv1.SweepProgress
	sent     map[string]bool // rollouts with a sent result; a lost result is computed and arrives again
	end      *orchestratorv1.SweepEnd
	told     time.Time // time of the last progress
}

// relay sends events until the sweep ends.
func (w *watch) relay(ctx context.Context, events watchEvents) error {
	if err := w.count(ctx); err != nil {
		return err
	}
	if err := w.sendProgress(); err != nil {
		return err
	}
	quiet := time.NewTicker(w.server.progressInterval)
	defer quiet.Stop()
	exhausted := ""               // why no rollout of the sweep starts any more
	var settling <-chan time.Time // ticks while exhausted
	// Stored results are sent even if the sweep is cancelled.
	for stop := false; w.missing() && !(stop && w.complete()); {
		select {
		case result := <-events.results:
			if err := w.send(result); err != nil {
				return err
			}
			quiet.Reset(w.server.progressInterval)
			if time.Since(w.told) < w.server.progressInterval {
				break
			}
			if err := errors.Join(w.measure(ctx), w.sendProgress()); err != nil {
				return err
			}
		case <-quiet.C:
			if err := w.sendBacklog(ctx); err != nil {
				return err
			}
		case control := <-events.controls:
			cancelled, err := w.receive(ctx, control)
			if stop = stop || cancelled; err != nil {
				return err
			}
			if exhausted, settling = control.GetExhausted(), nil; exhausted != "" {
				settling = time.Tick(settlePoll)
			}
		case <-settling:
			queued, err := w.server.bus.Queued(ctx, w.sweep.GetId())
			if err != nil {
				return err
			}
			if queued > 0 {
				break // some of its rollouts still run
			}
			stop, settling, w.end.Exhausted = true, nil, exhausted
			if err := w.count(ctx); err != nil {
				return err
			}
		case err := <-events.failed:
			return errors.Join(err, ctx.Err())
		case <-w.server.done:
			return status.Error(codes.Unavailable, "the orchestrator is stopping")
		}
	}
	if !w.missing() {
		w.end.Exhausted = ""
	}
	w.end.Cancelled = w.end.GetCancelled() || w.missing() && w.end.GetExhausted() == ""
	return w.stream.Send(&orchestratorv1.WatchSweepResponse{Event: &orchestratorv1.WatchSweepResponse_End{End: w.end}})
}

// receive handles a control state. If the sweep is cancelled, it counts the results that precede
// that.
func (w *watch) receive(ctx context.Context, control *busv1.SweepControl) (cancelled bool, err error) {
	if err := w.setPaused(ctx, control.GetPaused()); err != nil {
		return false, err
	}
	if cancelled = bus.Cancelled(control, w.rounds.Last()); cancelled {
		err = w.count(ctx)
	}
	return cancelled, err
}

// setPaused sends progress when the sweep is paused or continued.
func (w *watch) setPaused(ctx context.Context, paused bool) error {
	if paused == w.progress.GetPaused() {
		return nil
	}
	w.progress.Paused = paused
	return errors.Join(w.measure(ctx), w.sendProgress())
}

// missing reports whether rollouts of the sweep lack a sent result.
func (w *watch) missing() bool { return int64(len(w.sent)) < w.progress.GetTotal() }

// complete reports whether all results that were stored at the last count were sent.
func (w *watch) complete() bool { return int64(len(w.sent)) >= w.progress.GetDone() }

func (w *watch) count(ctx context.Context) (err error) {
	w.progress.Done, err = w.server.finished(ctx, w.sweep, w.rounds)
	return err
}

func (w *watch) sendProgress() error {
	w.told = time.Now()
	return w.stream.Send(&orchestratorv1.WatchSweepResponse{Event: &orchestratorv1.WatchSweepResponse_Progress{Progress: w.progress}})
}

// send sends a result unless one of the rollout was sent.
func (w *watch) send(result *busv1.Result) error {
	id := result.GetRollout().GetId()
	if w.sent[id] {
		return nil
	}
	w.sent[id] = true
	w.end.Cancelled = w.end.GetCancelled() || result.GetEnd().GetReason() == busv1.EndReason_END_REASON_CANCELLED
	return w.stream.Send(&orchestratorv1.WatchSweepResponse{Event: &orchestratorv1.WatchSweepResponse_Result{Result: result}})
}

// sendBacklog sends progress after a time without results. It also sends results that were stored
// meanwhile: after a stream has lost its tail, its follower skips results at reused positions.
func (w *watch) sendBacklog(ctx context.Context) error {
	if err := w.measure(ctx); err != nil {
		return err
	}
	if !w.complete() {
		var stored []*busv1.Result
		err := w.server.bus.VisitResults(ctx, w.sweep.GetId(), func(result *busv1.Result) {
			if isCurrent(w.sweep, w.rounds, result) {
				stored = append(stored, result)
			}
		})
		for _, result := range stored {
			err = errors.Join(err, w.send(result))
		}
		if err != nil {
			return err
		}
	}
	return w.sendProgress()
}

// measure updates all counts of the progress.
func (w *watch) measure(ctx context.Context) error {
	if err := w.server.backlog(ctx, w.sweep.GetId(), w.progress); err != nil {
		return err
	}
	return w.count(ctx)
}

// backlog adds the counts of rollouts without a result to a sweep's progress.
func (s *server) backlog(ctx context.Context, sweepID string, progress *orchestratorv1.SweepProgress) error {
	ctx, cancel := context.WithTimeout(ctx, backlogTimeout)
	defer cancel()
	backlog, err := s.bus.Backlog(ctx, sweepID)
	if err != nil {
		return err
	}
	load, err := s.bus.Load(ctx, sweepID, bus.LoadWait)
	if err != nil {
		return err
	}
	progress.Running, progress.Queued, progress.Scoring = int64(load.GetRunning()), int64(backlog.Queued)+int64(load.GetAhead()), int64(load.GetScoring())
	progress.Retrying = int64(backlog.Abandoned(load))
	if progress.GetPaused() { // they wait for its end
		progress.Queued, progress.Retrying = progress.GetQueued()+progress.GetRetrying(), 0
	}
	progress.Asked, progress.Limited, progress.Providers, progress.Counted = 0, 0, nil, true
	for _, name := range slices.Sorted(maps.Keys(load.GetProviders())) {
		asked, limited := int64(load.GetProviders()[name].GetAsked()), int64(load.GetProviders()[name].GetLimited())
		progress.Asked, progress.Limited = progress.GetAsked()+asked, progress.GetLimited()+limited
		progress.Providers = append(progress.Providers, &orchestratorv1.ProviderProgress{Provider: name, Asked: asked, Limited: limited})
	}
	return nil
}
