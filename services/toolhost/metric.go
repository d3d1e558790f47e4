package toolhost

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/instrument"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/host"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
)

// meters are the metrics of a tool host. Nothing reproducible depends on them.
type meters struct {
	execution        metric.Float64Histogram
	created, rebuilt metric.Int64Counter
	// succeeded is the label of a request without an error, made once.
	succeeded metric.MeasurementOption
	stop      func() error
}

// newMeters returns metrics that also measure the sessions and their file system until stop is
// called.
func newMeters(owner *host.Host, sessions *store.Store, dir string) (*meters, error) {
	maker := instrument.NewMaker(otel.Meter("toolhost"))
	m := &meters{
		execution: maker.Histogram(instrument.ExecutionDuration), created: maker.Counter(instrument.SessionsCreated),
		rebuilt: maker.Counter(instrument.SessionsRebuilt), succeeded: outcomeOf(nil),
	}
	held, size := maker.Gauge(instrument.SessionsHeld), maker.Gauge(instrument.StoreBytes)
	free, total := maker.Gauge(instrument.DiskFree), maker.Gauge(instrument.DiskSize)
	m.stop = maker.Observe(func(_ context.Context, o metric.Observer) error {
		o.ObserveFloat64(held, float64(owner.Held()))
		o.ObserveFloat64(size, float64(sessions.Size()))
		if bytes, of, ok := diskSpace(dir); ok {
			o.ObserveFloat64(free, float64(bytes))
			o.ObserveFloat64(total, float64(of))
		}
		return nil
	}, held, size, free, total)
	return m, maker.Err()
}

// executed records a request to execute calls. err is a gRPC status.
func (m *meters) executed(ctx context.Context, start time.Time, err error) {
	outcome := m.succeeded
	if err != nil {
		outcome = outcomeOf(err)
	}
	m.execution.Record(ctx, time.Since(start).Seconds(), outcome)
}

// outcomeOf returns the label of a request that ends with a gRPC status.
func outcomeOf(err error) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String(instrument.LabelOutcome, strings.ToLower(status.Code(err).String()))))
}
