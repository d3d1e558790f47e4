// Package worker takes rollouts from the job queue and plays them to their end. It asks players and
// the tool host in turn and appends their messages to the rollout's log. It may die at any line:
// the next worker folds the log and continues, and the log's fence prevents two workers from
// writing one rollout.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// Config configures a worker.
type Config struct {
	// Name identifies the worker in logs.
	Name string
	// Parallel is the number of concurrent rollouts.
	Parallel int
	// Lease is how long a job may go without renewal before another worker gets it.
	Lease time.Duration
	// RespondTimeout bounds one turn at the agent gateway, unless its player has a longer timeout.
	// ExecuteTimeout bounds one request to a tool host.
	RespondTimeout, ExecuteTimeout time.Duration
	// ConversationMemory bounds the total memory of long conversations.
	ConversationMemory int64
	// Attempts is the number of attempts of a rollout before it ends as an infrastructure failure.
	Attempts int
	// ResultTimeout bounds the wait of an ended rollout for its result before it ends as an
	// infrastructure failure.
	ResultTimeout time.Duration
}

// Peers are the services that a worker uses.
type Peers struct {
	// Bus holds queue, logs and results.
	Bus bus.Orchestrator
	// Agents plays the agent and the user.
	Agents agentgwv1.AgentGatewayServiceClient
	// ToolHost returns the tool host that owns a session.
	ToolHost func(sessionID string) toolhostv1.ToolHostServiceClient
	// Trace adds the trace of a rollout in a round to a context.
	Trace func(ctx context.Context, rolloutID string, round int32) context.Context
	// Drain returns the context of turns in flight when ctx ends.
	Drain func(ctx context.Context) (work context.Context, stop context.CancelFunc)
	// Logger receives logs.
	Logger *slog.Logger
}

const (
	// fetchWait is how long one request for jobs waits for a job.
	fetchWait = 5 * time.Second
	// queuePollInterval is the interval of polling for sweeps with jobs. Queued jobs are announced at
	// once, but announcements may be lost.
	queuePollInterval = 10 * time.Second
)

// releaseDelay is the delay of redelivery of jobs that are released on shutdown or for a pause. By
// then the server knows that this process's last request for jobs is over. Otherwise it would
// answer that request with the job, and nobody would read the answer.
const releaseDelay = 250 * time.Millisecond

var (
	// errDraining: the worker drains, and the rollout is between two turns.
	errDraining = errors.New("the worker drains")
	// errPaused: the rollout's sweep is paused, and the rollout is between two turns.
	errPaused = errors.New("the sweep is paused")
)

// maxBacklog bounds the jobs that wait in this process for a free slot, besides one per sweep.
const maxBacklog = 64

// Worker plays rollouts.
type Worker struct {
	cfg         Config
	peers       Peers
	metrics     metrics
	startErr    error                         // makes Run fail at once
	storedTools *lru.Cache[string, roleTools] // tools stored on the bus, by sweep, round and digest
	// storingTools are the tools that are being stored, by the same key.
	storingTools singleflight.Group
	limiter      activeLimiter
	memory       memoryLimit // of long conversations
	asking       memoryLimit // of long conversations in requests to players
	scheduler    *scheduler
	fetchWait    time.Duration
	lookEvery    time.Duration
	resultWait   time.Duration
	draining     <-chan struct{} // closed when no more turns may start

	mu         sync.Mutex
	deliveries map[string][]*bus.Delivery     // unacknowledged, by rollout: one per round
	controls   map[string]*busv1.SweepControl // by sweep
	waiting    map[*bus.Delivery]time.Time    // ended rollouts without a result, since when
}

// New returns a worker. Run starts it.
func New(cfg Config, peers Peers) *Worker {
	stored, err := lru.New[string, roleTools](maxTools)
	w := &Worker{
		cfg:         cfg,
		peers:       peers,
		deliveries:  make(map[string][]*bus.Delivery),
		controls:    make(map[string]*busv1.SweepControl),
		resultWait:  resultWait,
		waiting:     make(map[*bus.Delivery]time.Time),
		limiter:     newLimiter(),
		memory:      newMemoryLimit(cfg.ConversationMemory),
		asking:      newMemoryLimit(max(cfg.ConversationMemory/askingDivisor, 1)),
		storedTools: stored,
		scheduler:   newScheduler(cfg.Parallel, min(max(cfg.Parallel/4, 1), maxBacklog)),
		fetchWait:   fetchWait,
		lookEvery:   queuePollInterval,
	}
	var metricsErr error
	w.metrics, metricsErr = newMetrics()
	w.startErr = errors.Join(err, metricsErr)
	return w
}

// Run plays rollouts until ctx is done or the bus fails permanently. Then it starts no more turns,
// waits for those in flight, and releases unfinished jobs.
func (w *Worker) Run(ctx context.Context) error {
	if w.startErr != nil {
		return fmt.Errorf("start worker: %w", w.startErr)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	work, end := w.peers.Drain(ctx)
	defer end()
	w.draining = ctx.Done()
	errCh := make(chan error, 5)
	var fetching, playing, following sync.WaitGroup
	start := func(ctx context.Context, group *sync.WaitGroup, run func(context.Context) error) {
		group.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				errCh <- err
				stop()
			}
		})
	}
	w.scheduler.play = func(delivery *bus.Delivery) { playing.Go(func() { w.handle(work, delivery) }) }
	followed, unfollow := context.WithCancel(context.WithoutCancel(ctx))
	defer unfollow()
	start(followed, &following, w.followResults)
	start(followed, &following, w.watchControl)
	start(followed, &following, w.requestResults)
	start(followed, &following, w.serveLoad)
	start(followed, &following, func(ctx context.Context) error { w.extendLeases(ctx); return nil })
	start(ctx, &fetching, func(ctx context.Context) error {
		return w.followQueues(ctx, func(sweepID string) { fetching.Go(func() { w.fetch(ctx, sweepID) }) })
	})
	<-ctx.Done()
	fetching.Wait()
	w.release(w.scheduler.withdraw()...)
	playing.Wait()
	unfollow()
	following.Wait()
	w.release(w.heldDeliveries()...)
	select {
	case err := <-errCh:
		return err
	default:
		return nil
	}
}

// isDraining reports whether no more turns may start.
func (w *Worker) isDraining() bool {
	select {
	case <-w.draining:
		return true
	default:
		return false
	}
}

// heldUp returns why no more turn of a sweep may start here, nil if one may.
func (w *Worker) heldUp(sweepID string) error {
	switch {
	case w.isDraining():
		return errDraining
	case w.control(sweepID).GetPaused():
		return errPaused
	}
	return nil
}

// handle plays one rollout and decides about its job.
func (w *Worker) handle(ctx context.Context, delivery *bus.Delivery) {
	defer w.scheduler.done(delivery.Rollout.GetSweepId())
	if w.heldUp(delivery.Rollout.GetSweepId()) != nil {
		w.release(delivery)
		return
	}
	id, began := delivery.Rollout.GetId(), time.Now()
	traced := w.peers.Trace(ctx, id, delivery.Round)
	err := w.play(traced, delivery)
	if isLost(err) && delivery.Attempt >= min(w.cfg.Attempts, lostAttempts) && ctx.Err() == nil {
		err = w.failLost(ctx, delivery, err)
	}
	switch {
	case err == nil, ctx.Err() != nil:
		// Ended: the result acknowledges the job. Cut off: Run releases it.
	case errors.Is(err, errDraining), errors.Is(err, errPaused):
		w.release(delivery)
	case errors.Is(err, bus.ErrFenced):
		// Another worker owns the rollout. If it dies, the job is redelivered after the lease.
		w.drop(delivery)
		w.peers.Logger.Debug("rollout is played elsewhere", "rollout", id)
	case errors.Is(err, errReplaced), errors.Is(err, errUnplayable):
		w.finish(id, delivery.Round)
	case errors.Is(err, errSpendLimit):
		w.parkJob(ctx, delivery)
	default:
		w.drop(delivery)
		delay := w.backoff(delivery.Attempt)
		w.metrics.retried.Add(ctx, 1)
		traceFailure(traced, delivery, began, err)
		w.peers.Logger.Warn("rollout interrupted, retrying", "rollout", id, "attempt", delivery.Attempt, "delay", delay, "error", err)
		if err := delivery.Nak(delay); err != nil {
			w.peers.Logger.Warn("job comes again after its lease", "rollout", id, "error", err)
		}
	}
}

// backoff returns the exponential backoff of an attempt, at most the lease: a job that comes later
// than that counts as abandoned.
func (w *Worker) backoff(attempt int) time.Duration {
	return min(time.Second<<min(max(attempt-1, 0), 5), w.cfg.Lease)
}

// followResults acknowledges jobs whose result is stored.
func (w *Worker) followResults(ctx context.Context) error {
	return w.peers.Bus.FollowResults(ctx, "", func(result *busv1.Result) error {
		w.finish(result.GetRollout().GetId(), result.GetRound())
		return nil
	})
}

// watchControl caches the control state of all sweeps that are not deleted.
func (w *Worker) watchControl(ctx context.Context) error {
	return w.peers.Bus.WatchControl(ctx, "", func(sweepID string, control *busv1.SweepControl) {
		if control.GetDeleted() {
			w.mu.Lock()
			delete(w.controls, sweepID)
			w.mu.Unlock()
			w.scheduler.forget(sweepID)
			return
		}
		w.mu.Lock()
		w.controls[sweepID] = control
		w.mu.Unlock()
		w.release(w.scheduler.control(sweepID, sweepControl{int(control.GetParallel()), control.GetPaused()})...)
	})
}

// control returns the cached control state of a sweep, nil if none has arrived. Callers must not
// change it.
func (w *Worker) control(sweepID string) *busv1.SweepControl {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.controls[sweepID]
}

// extendLeases renews the leases of all held jobs three times per lease.
func (w *Worker) extendLeases(ctx context.Context) {
	ticker := time.NewTicker(w.cfg.Lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, delivery := range w.heldDeliveries() {
			if err := delivery.InProgress(); err != nil {
				w.peers.Logger.Warn("lease not extended", "rollout", delivery.Rollout.GetId(), "error", err)
			}
		}
	}
}

func (w *Worker) hold(delivery *bus.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := delivery.Rollout.GetId()
	earlier := slices.DeleteFunc(w.deliveries[id], func(d *bus.Delivery) bool {
		if d.Round == delivery.Round {
			delete(w.waiting, d)
			return true
		}
		return false
	})
	w.deliveries[id] = append(earlier, delivery)
}

// drop removes a delivery. A later delivery of the same job stays held.
func (w *Worker) drop(delivery *bus.Delivery) {
	w.remove(delivery.Rollout.GetId(), func(d *bus.Delivery) bool { return d == delivery })
}

// remove removes and returns the deliveries of a rollout that match.
func (w *Worker) remove(rolloutID string, match func(*bus.Delivery) bool) (taken []*bus.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	remaining := slices.DeleteFunc(w.deliveries[rolloutID], func(d *bus.Delivery) bool {
		if match(d) {
			delete(w.waiting, d)
			taken = append(taken, d)
			return true
		}
		return false
	})
	if len(remaining) == 0 {
		delete(w.deliveries, rolloutID)
	} else {
		w.deliveries[rolloutID] = remaining
	}
	return taken
}

func (w *Worker) heldDeliveries() []*bus.Delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Values(w.deliveries))...)
}

// finish acknowledges the held jobs of a rollout up to a round. An earlier round may never get a
// result, because the evaluator may have missed its end.
func (w *Worker) finish(rolloutID string, round int32) {
	for _, delivery := range w.remove(rolloutID, func(d *bus.Delivery) bool { return d.Round <= round }) {
		if err := delivery.Ack(); err != nil {
			w.peers.Logger.Warn("job comes again and will be found done", "rollout", rolloutID, "error", err)
		}
	}
}

// release gives jobs back to the queue.
func (w *Worker) release(deliveries ...*bus.Delivery) {
	for _, delivery := range deliveries {
		w.drop(delivery)
		if err := delivery.Nak(releaseDelay); err != nil {
			w.peers.Logger.Warn("job comes again after its lease", "rollout", delivery.Rollout.GetId(), "error", err)
		}
	}
}
