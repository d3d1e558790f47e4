package process

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolsandbox/toolsandbox/internal/health"
	"github.com/toolsandbox/toolsandbox/internal/instrument"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
)

// measure exports whether a process can do its work, and its connections to NATS, until stop is
// called.
func measure(m *rpc.Node) (stop func() error, err error) {
	maker := instrument.NewMaker(otel.Meter("process"))
	ready, reconnects := maker.Gauge(instrument.Ready), maker.Total(instrument.Reconnects)
	stop = maker.Observe(func(ctx context.Context, o metric.Observer) error {
		value := 1.0
		if health.Check(ctx, m.Ready) != nil {
			value = 0
		}
		o.ObserveFloat64(ready, value)
		o.ObserveFloat64(reconnects, float64(m.Reconnects()))
		return nil
	}, ready, reconnects)
	return stop, maker.Err()
}
