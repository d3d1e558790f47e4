package ratelimit

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// collected returns a function that collects all metrics: values by name and labels, the number of
// measurements of a histogram.
func collected(t *testing.T) (collect func() map[string]float64) {
	t.Helper()
	reader := metric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	return func() map[string]float64 {
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		got := make(map[string]float64)
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				switch data := m.Data.(type) {
				case metricdata.Gauge[float64]:
					for _, point := range data.DataPoints {
						got[m.Name+" "+point.Attributes.Encoded(attribute.DefaultEncoder())] = point.Value
					}
				case metricdata.Sum[int64]:
					for _, point := range data.DataPoints {
						got[m.Name+" "+point.Attributes.Encoded(attribute.DefaultEncoder())] = float64(point.Value)
					}
				case metricdata.Histogram[float64]:
					for _, point := range data.DataPoints {
						got[m.Name+" "+point.Attributes.Encoded(attribute.DefaultEncoder())] = float64(point.Count)
					}
				}
			}
		}
		return got
	}
}

// TestMetrics uses two keys of one provider, whose metrics are summed, for a sweep that spends its
// limit.
func TestMetrics(t *testing.T) {
	collect := collected(t)
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", limited(Limit{Concurrency: 7}))
		one := request("s")
		one.Limit = Cost{Tokens: 100_000}
		two := one
		two.Key.Fingerprint = "another"
		first, second := begin(t, limiter, one), begin(t, limiter, two)
		first.Done(Outcome{Class: Succeeded, Cost: Cost{Tokens: 90_000}})
		want := map[string]float64{
			"toolsandbox.model.queued gen_ai.provider.name=openai": 0, "toolsandbox.model.running gen_ai.provider.name=openai": 1,
			"toolsandbox.model.concurrency gen_ai.provider.name=openai": 14, "toolsandbox.model.wait gen_ai.provider.name=openai": 2, "toolsandbox.spend.share ": 0.9,
		}
		if diff := cmp.Diff(want, collect()); diff != "" {
			t.Errorf("metrics of running requests (-want +got):\n%s", diff)
		}
		second.Done(Outcome{Class: Succeeded, Cost: Cost{Tokens: 10_000}})
		if _, err := limiter.Acquire(t.Context(), one); !errors.Is(err, ErrSpendLimit) {
			t.Errorf("Acquire: got %v, want %v", err, ErrSpendLimit)
		}
		want["toolsandbox.model.running gen_ai.provider.name=openai"], want["toolsandbox.spend.share "] = 0, 1
		want["toolsandbox.model.refused cause=spend_limit,gen_ai.provider.name=openai"] = 1
		if diff := cmp.Diff(want, collect()); diff != "" {
			t.Errorf("metrics at the limit (-want +got):\n%s", diff)
		}
	})
}
