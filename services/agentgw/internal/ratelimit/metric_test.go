package ratelimit

import (
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func TestMetrics(t *testing.T) {
	reader := metric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	defer otel.SetMeterProvider(before)
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", limited(Limit{Concurrency: 7}))
		begin(t, limiter, request("s")).Done(Outcome{Class: Rejected})
		permit := begin(t, limiter, request("s"))
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		permit.Done(Outcome{Class: Succeeded})
		got := make(map[string]int64)
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				switch data := m.Data.(type) {
				case metricdata.Gauge[int64]:
					got[m.Name] = data.DataPoints[0].Value
				case metricdata.Sum[int64]:
					got[m.Name] = data.DataPoints[0].Value
				case metricdata.Histogram[float64]:
					got[m.Name] = int64(data.DataPoints[0].Count)
					if _, ok := data.DataPoints[0].Attributes.Value(attribute.Key("provider")); !ok {
						t.Errorf("%s: got attributes %v, want the provider", m.Name, data.DataPoints[0].Attributes)
					}
				}
			}
		}
		for name, want := range map[string]int64{
			"toolsandbox.model.queued": 0, "toolsandbox.model.running": 1, "toolsandbox.model.concurrency": 7,
			"toolsandbox.model.requests": 1, "toolsandbox.model.tokens": 0, "toolsandbox.model.wait": 2,
		} {
			if value, ok := got[name]; !ok || value != want {
				t.Errorf("%s: got %d, %v, want %d", name, value, ok, want)
			}
		}
	})
}

// TestMetricsOfManyKeys uses two keys of one provider. Their metrics are summed.
func TestMetricsOfManyKeys(t *testing.T) {
	reader := metric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	defer otel.SetMeterProvider(before)
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", nil)
		one, two := request("s"), request("s")
		two.Key.Fingerprint = "another"
		for _, r := range []Request{one, two, two} {
			defer begin(t, limiter, r).Done(Outcome{Class: Succeeded})
		}
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		for _, m := range all.ScopeMetrics[0].Metrics {
			data, ok := m.Data.(metricdata.Gauge[int64])
			if !ok || m.Name != "toolsandbox.model.running" {
				continue
			}
			if len(data.DataPoints) != 1 || data.DataPoints[0].Value != 3 {
				t.Errorf("%s: got %v, want 3 of one provider", m.Name, data.DataPoints)
			}
			return
		}
		t.Error("toolsandbox.model.running: got nothing, want it measured")
	})
}
