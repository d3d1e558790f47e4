package ratelimit

import (
	"fmt"
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
		g := replica(t, newMemory(), "r0", limited(Limit{Concurrency: 7}))
		begin(t, g, demand("s")).Done(Outcome{Class: Rejected})
		gr := begin(t, g, demand("s"))
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		gr.Done(Outcome{})
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
			"toolsandbox.budget.queue": 0, "toolsandbox.budget.running": 1, "toolsandbox.budget.concurrency": 7, "toolsandbox.budget.breaker": 1,
			"toolsandbox.budget.requests": 1, "toolsandbox.budget.tokens": 0, "toolsandbox.budget.wait": 2,
		} {
			if value, ok := got[name]; !ok || value != want {
				t.Errorf("%s: got %d, %v, want %d", name, value, ok, want)
			}
		}
	})
}

// TestMetricsOfManyKeys uses more keys than have names: the rest are counted together.
func TestMetricsOfManyKeys(t *testing.T) {
	reader := metric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	defer otel.SetMeterProvider(before)
	synctest.Test(t, func(t *testing.T) {
		const more = 10
		g := replica(t, newMemory(), "r0", nil)
		var held []*Permit
		for n := range maxNamed + more {
			d := demand("s")
			d.Key.Fingerprint = Fingerprint(fmt.Sprintf("http://%d", n), "secret")
			held = append(held, begin(t, g, d))
		}
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		for _, gr := range held {
			gr.Done(Outcome{})
		}
		for _, m := range all.ScopeMetrics[0].Metrics {
			data, ok := m.Data.(metricdata.Gauge[int64])
			if !ok || m.Name != "toolsandbox.budget.running" {
				continue
			}
			other := int64(0)
			for _, point := range data.DataPoints {
				if name, _ := point.Attributes.Value("key"); name.AsString() == otherKeys {
					other = point.Value
				}
			}
			if len(data.DataPoints) != maxNamed+1 || other != more {
				t.Errorf("%s: got %d names, %d requests under %s, want %d and %d", m.Name, len(data.DataPoints), other, otherKeys, maxNamed+1, more)
			}
			return
		}
		t.Error("toolsandbox.budget.running: got nothing, want it measured")
	})
}
