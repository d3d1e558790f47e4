package ratelimit

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// meters are the metrics of each provider's budgets. Nothing reproducible depends on them.
type meters struct {
	waits        metric.Float64Histogram
	requests     metric.Int64Counter
	tokens       metric.Int64Counter
	money        metric.Float64Counter
	registration metric.Registration
}

func newMeters(l *Limiter) (*meters, error) {
	meter := otel.Meter("agentgw")
	m := &meters{}
	var errs [7]error
	m.waits, errs[0] = meter.Float64Histogram("toolsandbox.model.wait", metric.WithUnit("s"), metric.WithDescription("Time for which a request waited for its budget."))
	m.requests, errs[1] = meter.Int64Counter("toolsandbox.model.requests", metric.WithDescription("Requests that ended, by class."))
	m.tokens, errs[2] = meter.Int64Counter("toolsandbox.model.tokens", metric.WithDescription("Tokens that requests took."))
	m.money, errs[3] = meter.Float64Counter("toolsandbox.model.cost", metric.WithUnit("{USD}"), metric.WithDescription("What requests cost, where the price is known."))
	var queue, running, concurrency metric.Int64ObservableGauge
	queue, errs[4] = meter.Int64ObservableGauge("toolsandbox.model.queued", metric.WithDescription("Requests that wait."))
	running, errs[5] = meter.Int64ObservableGauge("toolsandbox.model.running", metric.WithDescription("Requests that run."))
	concurrency, errs[6] = meter.Int64ObservableGauge("toolsandbox.model.concurrency", metric.WithDescription("Requests that may run at once."))
	err := errors.Join(errs[:]...)
	if err != nil {
		return nil, err
	}
	m.registration, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		sums := make(map[string][3]int64)
		for key, b := range l.budgets {
			s := sums[key.Provider]
			s[0], s[1], s[2] = s[0]+int64(b.queue.n), s[1]+int64(b.running), s[2]+int64(b.adaptive.concurrency)
			sums[key.Provider] = s
			o.ObserveInt64(queue, s[0], b.labels) // of several keys the last observation counts
			o.ObserveInt64(running, s[1], b.labels)
			o.ObserveInt64(concurrency, s[2], b.labels)
		}
		return nil
	}, queue, running, concurrency)
	return m, err
}
