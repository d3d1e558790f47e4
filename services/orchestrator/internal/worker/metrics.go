package worker

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// metrics are the worker's metrics. Nothing reproducible depends on them.
type metrics struct {
	ended    metric.Int64Counter
	duration metric.Float64Histogram
	running  metric.Int64UpDownCounter
}

func newMetrics() (metrics, error) {
	meter := otel.Meter("orchestrator")
	endedCounter, err := meter.Int64Counter("toolsandbox.rollout.ended", metric.WithDescription("Rollouts that this process ended, by reason."))
	if err != nil {
		return metrics{}, err
	}
	duration, err := meter.Float64Histogram("toolsandbox.rollout.duration", metric.WithUnit("s"),
		metric.WithDescription("Time for which this process played a rollout."))
	if err != nil {
		return metrics{}, err
	}
	running, err := meter.Int64UpDownCounter("toolsandbox.rollout.running", metric.WithDescription("Rollouts that this process plays."))
	return metrics{ended: endedCounter, duration: duration, running: running}, err
}

// start records that a rollout starts, and returns the function that records its end. end is nil if
// the rollout did not end here.
func (m metrics) start(ctx context.Context) func(end *busv1.End) {
	start := time.Now()
	m.running.Add(ctx, 1)
	return func(end *busv1.End) {
		m.running.Add(ctx, -1)
		if end == nil {
			return
		}
		reason := strings.ToLower(strings.TrimPrefix(end.GetReason().String(), "END_REASON_"))
		m.ended.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason)))
		m.duration.Record(ctx, time.Since(start).Seconds())
	}
}
