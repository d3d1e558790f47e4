package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

const (
	// gaugesName is the name whose owner among the orchestrators exports the gauges.
	gaugesName = "gauges"
	// gaugesTimeout bounds one measurement.
	gaugesTimeout = 5 * time.Second
)

// exportGauges exports the numbers by which an installation is scaled until ctx is done: its jobs,
// and the rollouts that its orchestrators play. Each orchestrator could measure both. One of them,
// the owner of gaugesName, exports them, so that they count once. When it dies, another one owns
// the name within seconds. While NATS is unavailable nobody does: no value is better than an old
// one.
func exportGauges(ctx context.Context, stores bus.Orchestrator, meter metric.Meter, logger *slog.Logger) (err error) {
	replicas, err := stores.Join("orchestrator", uuid.NewString())
	if err != nil {
		return fmt.Errorf("export gauges: %w", err)
	}
	defer func() { err = errors.Join(err, replicas.Leave()) }()
	var errs [2]error
	var pending, running metric.Int64ObservableGauge
	pending, errs[0] = meter.Int64ObservableGauge("toolsandbox.jobs.pending",
		metric.WithDescription("Rollouts of the installation without a score that wait or run."))
	running, errs[1] = meter.Int64ObservableGauge("toolsandbox.jobs.running", metric.WithDescription("Rollouts of the installation that orchestrators play."))
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("export gauges: %w", err)
	}
	registration, err := meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		if owner, _ := replicas.Owner(gaugesName); owner != replicas.Name() {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, gaugesTimeout)
		defer cancel()
		jobs, err := stores.Pending(ctx)
		if err != nil {
			logger.Warn("gauges cannot be measured", "error", err)
			return nil
		}
		load, err := stores.Load(ctx, "", bus.LoadWait)
		if err != nil {
			logger.Warn("gauges cannot be measured", "error", err)
			return nil
		}
		o.ObserveInt64(pending, jobs)
		o.ObserveInt64(running, int64(load.GetRunning()))
		return nil
	}, pending, running)
	if err != nil {
		return fmt.Errorf("export gauges: %w", err)
	}
	<-ctx.Done()
	return registration.Unregister()
}
