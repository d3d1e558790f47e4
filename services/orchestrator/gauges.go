package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/instrument"
	"github.com/toolsandbox/toolsandbox/internal/pause"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

const (
	// gaugesName is the name whose owner among the orchestrators exports the gauges.
	gaugesName = "gauges"
	// gaugesTimeout bounds one measurement.
	gaugesTimeout = 5 * time.Second
)

// exportGauges exports what is known of an installation as a whole until ctx is done: its jobs, the
// rollouts that its orchestrators play, and the room of its streams. Each orchestrator could
// measure it. One of them, the owner of gaugesName, exports it, so that it counts once. When it
// dies, another one owns the name within seconds. While NATS is unavailable nobody does: no value
// is better than an old one.
func exportGauges(ctx context.Context, stores bus.Orchestrator, replicas *bus.Replicas, meter metric.Meter, logger *slog.Logger) (err error) {
	maker := instrument.NewMaker(meter)
	g := &gauges{
		stores: stores, paused: make(map[string]bool), pending: maker.Gauge(instrument.JobsPending), running: maker.Gauge(instrument.JobsRunning), scoring: maker.Gauge(instrument.JobsScoring),
		waiting: maker.Gauge(instrument.JobsWaiting), size: maker.Gauge(instrument.StreamBytes), limit: maker.Gauge(instrument.StreamLimit),
	}
	stop := maker.Observe(func(ctx context.Context, o metric.Observer) error {
		if owner, _ := replicas.Owner(gaugesName); owner != replicas.Name() {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, gaugesTimeout)
		defer cancel()
		if err := errors.Join(g.measureJobs(ctx, o), g.measureStreams(ctx, o)); err != nil {
			logger.Warn("gauges cannot be measured", "error", err)
		}
		return nil
	}, g.pending, g.running, g.scoring, g.waiting, g.size, g.limit)
	defer func() { err = errors.Join(err, stop()) }()
	if err := maker.Err(); err != nil {
		return fmt.Errorf("export gauges: %w", err)
	}
	for ctx.Err() == nil {
		if err := stores.WatchControl(ctx, "", g.setControl); err != nil {
			logger.Warn("jobs of paused sweeps may count as pending, retrying", "error", err)
			pause.For(ctx, time.Second)
		}
	}
	return nil
}

// gauges measures an installation.
type gauges struct {
	stores                                          bus.Orchestrator
	pending, running, scoring, waiting, size, limit metric.Float64ObservableGauge

	mu     sync.Mutex
	paused map[string]bool // sweeps whose jobs nobody shall take
}

// setControl takes the control state of a sweep.
func (g *gauges) setControl(sweepID string, control *busv1.SweepControl) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if delete(g.paused, sweepID); control.GetPaused() {
		g.paused[sweepID] = true
	}
}

func (g *gauges) isPaused(sweepID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.paused[sweepID]
}

// pausedJobs returns the number of jobs of paused sweeps.
func (g *gauges) pausedJobs(ctx context.Context) (jobs int64, err error) {
	g.mu.Lock()
	paused := slices.Collect(maps.Keys(g.paused))
	g.mu.Unlock()
	for _, id := range paused {
		n, err := g.stores.Queued(ctx, id)
		if err != nil {
			return 0, err
		}
		jobs += int64(n)
	}
	return jobs, nil
}

// measureJobs observes all of the queue or nothing. Jobs of paused sweeps do not count.
func (g *gauges) measureJobs(ctx context.Context, o metric.Observer) error {
	jobs, err := g.stores.Pending(ctx)
	if err != nil {
		return err
	}
	paused, err := g.pausedJobs(ctx)
	if err != nil {
		return err
	}
	since, err := g.stores.Waiting(ctx, g.isPaused)
	if err != nil {
		return err
	}
	load, err := g.stores.Load(ctx, "", bus.LoadWait)
	if err != nil {
		return err
	}
	age := 0.0
	if !since.IsZero() {
		age = max(time.Since(since).Seconds(), 0) // the clock of NATS may be ahead
	}
	o.ObserveFloat64(g.pending, float64(max(jobs-paused, 0)))
	o.ObserveFloat64(g.running, float64(load.GetRunning()))
	o.ObserveFloat64(g.scoring, float64(load.GetScoring()))
	o.ObserveFloat64(g.waiting, age)
	return nil
}

// measureStreams observes the room of the streams.
func (g *gauges) measureStreams(ctx context.Context, o metric.Observer) error {
	rooms, err := g.stores.Rooms(ctx)
	if err != nil {
		return err
	}
	for _, room := range rooms {
		stream := metric.WithAttributes(attribute.String(instrument.LabelStream, room.Stream))
		o.ObserveFloat64(g.size, float64(room.Bytes), stream)
		if room.Limit > 0 {
			o.ObserveFloat64(g.limit, float64(room.Limit), stream)
		}
	}
	return nil
}
