package ratelimit

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// maxNamed is how many keys have names of their own in metrics: whoever runs a sweep chooses
// addresses, and each is a key.
const maxNamed = 64

// otherKeys is the name of all others.
const otherKeys = "other"

// meters measure what budgets do. Nothing reproducible depends on it.
type meters struct {
	waits    metric.Float64Histogram
	requests metric.Int64Counter
	tokens   metric.Int64Counter
	money    metric.Float64Counter
	watching metric.Registration
	named    map[Key]bool // under the limiter's lock
}

// name returns what a budget is called in metrics. A budget that was let go and comes back has the
// name that it had.
func (m *meters) name(key Key) (Key, metric.MeasurementOption) {
	if !m.named[key] && len(m.named) >= maxNamed {
		key.Fingerprint = otherKeys
	} else {
		m.named[key] = true
	}
	return key, metric.WithAttributes(attribute.String("provider", key.Provider), attribute.String("key", key.Fingerprint))
}

func newMeters(g *Limiter) (*meters, error) {
	meter := otel.Meter("agentgw")
	m := &meters{named: make(map[Key]bool)}
	var errs [8]error
	m.waits, errs[0] = meter.Float64Histogram("toolsandbox.budget.wait", metric.WithUnit("s"), metric.WithDescription("Time for which a request waited for its budget."))
	m.requests, errs[1] = meter.Int64Counter("toolsandbox.budget.requests", metric.WithDescription("Requests that ended, by class."))
	m.tokens, errs[2] = meter.Int64Counter("toolsandbox.budget.tokens", metric.WithDescription("Tokens that requests took."))
	m.money, errs[3] = meter.Float64Counter("toolsandbox.budget.cost", metric.WithUnit("{USD}"), metric.WithDescription("What requests cost, where the price is known."))
	queue, err := meter.Int64ObservableGauge("toolsandbox.budget.queue", metric.WithDescription("Requests that wait."))
	errs[4] = err
	running, err := meter.Int64ObservableGauge("toolsandbox.budget.running", metric.WithDescription("Requests that run."))
	errs[5] = err
	limit, err := meter.Int64ObservableGauge("toolsandbox.budget.concurrency", metric.WithDescription("Requests that may run at once."))
	errs[6] = err
	breaker, err := meter.Int64ObservableGauge("toolsandbox.budget.breaker", metric.WithDescription("1 for the state that the breaker is in."))
	errs[7] = err
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	m.watching, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		waiting, began, allowed := make(map[Key]int64), make(map[Key]int64), make(map[Key]int64)
		for _, b := range g.budgets {
			waiting[b.label] += int64(b.queue.n)
			began[b.label] += int64(b.running)
			allowed[b.label] += int64(b.allowed())
			o.ObserveInt64(queue, waiting[b.label], b.measured)
			o.ObserveInt64(running, began[b.label], b.measured)
			o.ObserveInt64(limit, allowed[b.label], b.measured)
			o.ObserveInt64(breaker, 1, b.measured, metric.WithAttributes(attribute.String("state", b.breaker.circuit.State().String())))
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
