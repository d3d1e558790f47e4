package governor

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// meters measure what budgets do. Nothing reproducible depends on it.
type meters struct {
	waits    metric.Float64Histogram
	requests metric.Int64Counter
	tokens   metric.Int64Counter
	money    metric.Float64Counter
	watching metric.Registration
}

func newMeters(g *Governor) (*meters, error) {
	meter := otel.Meter("agentgw")
	m := &meters{}
	var errs [8]error
	m.waits, errs[0] = meter.Float64Histogram("toolsandbox.budget.wait", metric.WithUnit("s"), metric.WithDescription("Time for which a request waited for its budget."))
	m.requests, errs[1] = meter.Int64Counter("toolsandbox.budget.requests", metric.WithDescription("Requests that ended, by class."))
	m.tokens, errs[2] = meter.Int64Counter("toolsandbox.budget.tokens", metric.WithDescription("Tokens that requests took."))
	m.money, errs[3] = meter.Float64Counter("toolsandbox.budget.cost", metric.WithUnit("{USD}"), metric.WithDescription("What requests cost, where the price is known."))
	queue, err := meter.Int64ObservableGauge("toolsandbox.budget.queue", metric.WithDescription("Requests that wait in this process."))
	errs[4] = err
	running, err := meter.Int64ObservableGauge("toolsandbox.budget.running", metric.WithDescription("Requests of this process that run."))
	errs[5] = err
	limit, err := meter.Int64ObservableGauge("toolsandbox.budget.concurrency", metric.WithDescription("Requests that may run at once in all replicas."))
	errs[6] = err
	breaker, err := meter.Int64ObservableGauge("toolsandbox.budget.breaker", metric.WithDescription("1 for the state that the breaker is in."))
	errs[7] = err
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	m.watching, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		now := time.Now()
		for _, b := range g.budgets {
			of := b.measured
			o.ObserveInt64(queue, int64(b.queue.n), of)
			o.ObserveInt64(running, int64(b.running), of)
			o.ObserveInt64(limit, int64(b.allowed), of)
			o.ObserveInt64(breaker, 1, of, metric.WithAttributes(attribute.String("state", b.breaker.state(now))))
		}
		return nil
	}, queue, running, limit, breaker)
	return m, err
}

func (m *meters) waited(ctx context.Context, b *budget, d time.Duration) {
	m.waits.Record(ctx, d.Seconds(), b.measured)
}

func (m *meters) ended(b *budget, class Class, cost Spend) {
	ctx := context.Background() // counted whether or not the caller still waits
	m.requests.Add(ctx, 1, b.measured, metric.WithAttributes(attribute.String("class", class.String())))
	m.tokens.Add(ctx, cost.Tokens, b.measured)
	m.money.Add(ctx, float64(cost.Micros)/1e6, b.measured)
}

func (m *meters) close() error { return m.watching.Unregister() }
