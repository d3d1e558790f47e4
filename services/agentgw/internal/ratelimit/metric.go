package ratelimit

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolsandbox/toolsandbox/internal/instrument"
)

// meters are the metrics of each provider's budgets. Nothing reproducible depends on them.
type meters struct {
	waits                       metric.Float64Histogram
	refused                     metric.Int64Counter
	queue, running, concurrency metric.Float64ObservableGauge
	share                       metric.Float64ObservableGauge
	stop                        func() error
}

func newMeters(l *Limiter) (*meters, error) {
	maker := instrument.NewMaker(otel.Meter("agentgw"))
	m := &meters{
		waits: maker.Histogram(instrument.ModelWait), refused: maker.Counter(instrument.ModelRefused),
		queue: maker.Gauge(instrument.ModelQueued), running: maker.Gauge(instrument.ModelRunning), concurrency: maker.Gauge(instrument.ModelConcurrency),
		share: maker.Gauge(instrument.SpendShare),
	}
	m.stop = maker.Observe(func(_ context.Context, o metric.Observer) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		m.measure(l, time.Now(), o)
		return nil
	}, m.queue, m.running, m.concurrency, m.share)
	return m, maker.Err()
}

// measure observes the budgets. The limiter is locked.
func (m *meters) measure(l *Limiter, now time.Time, o metric.Observer) {
	sums := make(map[string][3]int)
	for key, b := range l.budgets {
		s := sums[key.Provider]
		s[0], s[1], s[2] = s[0]+b.queue.n, s[1]+b.running, s[2]+int(b.adaptive.concurrency)
		sums[key.Provider] = s
	}
	for provider, s := range sums {
		labels := metric.WithAttributes(attribute.String(instrument.LabelProvider, provider))
		o.ObserveFloat64(m.queue, float64(s[0]), labels)
		o.ObserveFloat64(m.running, float64(s[1]), labels)
		o.ObserveFloat64(m.concurrency, float64(s[2]), labels)
	}
	share, limited := 0.0, false
	for _, s := range l.spends {
		if s.loaded && (s.running > 0 || now.Sub(s.active) <= idleTimeout) {
			share, limited = max(share, s.spent.shareOf(s.limit)), true
		}
	}
	if limited {
		o.ObserveFloat64(m.share, share)
	}
}

// refuse counts a request that was not sent.
func (m *meters) refuse(ctx context.Context, provider string, err error) {
	cause := "error"
	switch {
	case errors.Is(err, ErrSpendLimit):
		cause = "spend_limit"
	case errors.Is(err, ErrOutage):
		cause = "outage"
	case errors.Is(err, ErrBreakerOpen):
		cause = "breaker_open"
	case errors.Is(err, ErrQueueFull):
		cause = "queue_full"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		cause = "abandoned"
	}
	m.refused.Add(ctx, 1, metric.WithAttributes(attribute.String(instrument.LabelProvider, provider), attribute.String(instrument.LabelCause, cause)))
}
