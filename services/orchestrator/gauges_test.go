package orchestrator

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/instrument"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// exporter is an orchestrator that exports gauges over a connection of its own.
type exporter struct {
	reader *sdkmetric.ManualReader
	conn   *nats.Conn
	stop   func() // drains it, and waits for its end
}

func export(t *testing.T, url string, running int32) *exporter {
	t.Helper()
	conn := natstest.Dial(t, url)
	stores := natstest.Open(t, conn, bus.DefaultConfig()).Orchestrator()
	unserve, err := stores.ServeLoad(func(sweepID string) *busv1.Load {
		if sweepID != "" {
			t.Errorf("load of %q: want that of all sweeps", sweepID)
		}
		return &busv1.Load{Running: running, Scoring: 2 * running}
	})
	if err != nil {
		t.Fatal(err)
	}
	e := &exporter{reader: sdkmetric.NewManualReader(), conn: conn}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(e.reader))
	ctx, cancel := context.WithCancel(t.Context())
	ended := exporting(ctx, t, stores, provider)
	e.stop = func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("exportGauges: got %v, want nil", err)
		}
		if err := unserve(); err != nil {
			t.Error(err)
		}
	}
	return e
}

// exporting exports gauges as one of the orchestrators, until ctx is done.
func exporting(ctx context.Context, t *testing.T, stores bus.Orchestrator, provider *sdkmetric.MeterProvider) (ended <-chan error) {
	t.Helper()
	replicas, err := stores.Join("orchestrator", rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() {
		err := exportGauges(ctx, stores, replicas, provider.Meter("test"), slog.New(slog.DiscardHandler))
		result <- errors.Join(err, replicas.Leave())
	}()
	return result
}

// gauges returns what an orchestrator exports at the moment, nil for nothing. Of streams it is
// their number. The age of the oldest job counts as 1 unless it is 0.
func (e *exporter) gauges(t *testing.T) map[string]float64 {
	t.Helper()
	var collected metricdata.ResourceMetrics
	if err := e.reader.Collect(t.Context(), &collected); err != nil {
		t.Fatal(err)
	}
	var values map[string]float64
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			data, _ := m.Data.(metricdata.Gauge[float64])
			for _, point := range data.DataPoints {
				if values == nil {
					values = make(map[string]float64)
				}
				switch m.Name {
				case instrument.StreamBytes.Name, instrument.StreamLimit.Name:
					values[m.Name]++
				case instrument.JobsWaiting.Name:
					values[m.Name] = math.Ceil(min(point.Value, 1))
				default:
					values[m.Name] = point.Value
				}
			}
		}
	}
	return values
}

// gaugesOf returns what the elected orchestrator exports, as gauges does.
func gaugesOf(pending, running, waiting float64) map[string]float64 {
	return map[string]float64{
		"toolsandbox.jobs.pending": pending, "toolsandbox.jobs.running": running, "toolsandbox.jobs.scoring": 2 * running,
		"toolsandbox.jobs.oldest.age": waiting, "toolsandbox.stream.size": 15, // seven and two for each of four shards
	}
}

// elected waits until one of the orchestrators exports the wanted values, and all others nothing.
// It returns that one and the others.
func elected(t *testing.T, want map[string]float64, exporters ...*exporter) (owner *exporter, others []*exporter) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for ctx := within(t); ; {
		owner, others = nil, nil
		var got []map[string]float64
		for _, e := range exporters {
			values := e.gauges(t)
			got = append(got, values)
			if cmp.Equal(values, want) && owner == nil {
				owner = e
			} else if values == nil {
				others = append(others, e)
			}
		}
		if owner != nil && len(others) == len(exporters)-1 {
			return owner, others
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("exported gauges: got %v, want %v of one", got, want)
		}
	}
}

// TestGauges kills the one of two orchestrators that exports the gauges, starts a third one, and
// drains the one that exports then. Another one exports each time. Jobs of a paused sweep do not
// count.
func TestGauges(t *testing.T) {
	url, conn := natstest.Listen(t)
	stores := natstest.Open(t, conn, bus.DefaultConfig())
	jobs := stores.Jobs
	if err := stores.UpdateControl(within(t), "paused", func(c *busv1.SweepControl) bool { c.Paused = true; return true }); err != nil {
		t.Fatal(err)
	}
	if err := jobs.Enqueue(within(t), []*busv1.Job{
		{Rollout: &busv1.Rollout{Id: "a.0"}}, {Rollout: &busv1.Rollout{Id: "a.1"}}, {Rollout: &busv1.Rollout{Id: "b.0"}}, {Rollout: &busv1.Rollout{Id: "paused.0"}},
	}); err != nil {
		t.Fatal(err)
	}
	queue, err := jobs.OpenQueue(within(t), "a", patience)
	if err != nil {
		t.Fatal(err)
	}
	if deliveries, err := queue.Fetch(within(t), 1, patience); err != nil || len(deliveries) != 1 { // in flight
		t.Fatalf("Fetch: got %v, %v, want a job", deliveries, err)
	}
	want := func(running float64) map[string]float64 {
		return gaugesOf(3, running, 1)
	}
	first, second := export(t, url, 1), export(t, url, 1)
	killed, left := elected(t, want(2), first, second)
	killed.conn.Close() // it cannot say that it leaves
	survivor, _ := elected(t, want(1), left[0], killed)
	third := export(t, url, 1)
	owner, others := elected(t, want(2), survivor, third)
	owner.stop()
	if got := owner.gauges(t); got != nil {
		t.Errorf("gauges of a drained orchestrator: got %v, want none", got)
	}
	elected(t, want(1), others[0], owner)
	others[0].stop()
	killed.stop()
}

// TestNoOwnerWithoutNATS checks that nobody exports old values while NATS is unavailable.
func TestNoOwnerWithoutNATS(t *testing.T) {
	conn := natstest.Connect(t, t.TempDir())
	stores := natstest.Open(t, conn, bus.DefaultConfig()).Orchestrator()
	reader := sdkmetric.NewManualReader()
	e := &exporter{reader: reader}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	ctx, cancel := context.WithCancel(t.Context())
	ended := exporting(ctx, t, stores, provider)
	elected(t, gaugesOf(0, 0, 0), e)
	conn.Close()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for limit := within(t); e.gauges(t) != nil; {
		select {
		case <-ticker.C:
		case <-limit.Done():
			t.Fatal("gauges without NATS: got some, want none")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("exportGauges: got %v, want nil", err)
	}
}
