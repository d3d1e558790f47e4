// Package instrument lists the metrics of all services in one table: names, kinds, units, labels
// and buckets. The services make their metrics from it, and so are the reference, the dashboard
// and the alerts. Nothing reproducible depends on a metric.
package instrument

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/metric"
)

// Kind is the kind of an instrument.
type Kind string

// These are the kinds. UpDown is a sum that also falls.
const (
	Counter   Kind = "counter"
	UpDown    Kind = "up-down counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Instrument describes a metric.
type Instrument struct {
	// Name is the name in OpenTelemetry.
	Name string
	Kind Kind
	// Unit is in the notation of UCUM.
	Unit string
	// From names what records it: a service, "each service", or "one orchestrator", which is elected.
	From string
	// Labels are the keys of all attributes. The values of each are few.
	Labels []string
	// Buckets are the upper bounds of a histogram's buckets.
	Buckets []float64
	// Help says in one sentence what is measured.
	Help string
}

// Prometheus returns the name in Prometheus, without the suffixes of a histogram's series.
func (i Instrument) Prometheus() string {
	kinds := map[Kind]otlptranslator.MetricType{
		Counter: otlptranslator.MetricTypeMonotonicCounter, UpDown: otlptranslator.MetricTypeNonMonotonicCounter,
		Gauge: otlptranslator.MetricTypeGauge, Histogram: otlptranslator.MetricTypeHistogram,
	}
	namer := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	name, err := namer.Build(otlptranslator.Metric{Name: i.Name, Unit: i.Unit, Type: kinds[i.Kind]})
	if err != nil {
		return "" // only for an empty name
	}
	return name
}

// Label returns the name of a label in Prometheus.
func Label(key string) string { return strings.ReplaceAll(key, ".", "_") }

// Maker makes metrics. Err joins the errors of all calls.
type Maker struct {
	meter metric.Meter
	errs  []error
}

// NewMaker returns a maker that makes metrics with a meter.
func NewMaker(meter metric.Meter) *Maker { return &Maker{meter: meter} }

// Err returns the errors so far.
func (m *Maker) Err() error { return errors.Join(m.errs...) }

// check notes an error, also that the table has another kind.
func (m *Maker) check(i Instrument, kind Kind, err error) {
	if err == nil && i.Kind != kind {
		err = fmt.Errorf("it is a %s, not a %s", i.Kind, kind)
	}
	if err != nil {
		m.errs = append(m.errs, fmt.Errorf("metric %s: %w", i.Name, err))
	}
}

// Counter makes a counter. Without labels it starts at 0, so that its first change is seen.
func (m *Maker) Counter(i Instrument) metric.Int64Counter {
	c, err := m.meter.Int64Counter(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help))
	m.check(i, Counter, err)
	if len(i.Labels) == 0 {
		c.Add(context.Background(), 0)
	}
	return c
}

// Amount makes a counter of fractions.
func (m *Maker) Amount(i Instrument) metric.Float64Counter {
	c, err := m.meter.Float64Counter(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help))
	m.check(i, Counter, err)
	return c
}

// UpDown makes an up-down counter.
func (m *Maker) UpDown(i Instrument) metric.Int64UpDownCounter {
	c, err := m.meter.Int64UpDownCounter(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help))
	m.check(i, UpDown, err)
	return c
}

// Histogram makes a histogram.
func (m *Maker) Histogram(i Instrument) metric.Float64Histogram {
	h, err := m.meter.Float64Histogram(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help),
		metric.WithExplicitBucketBoundaries(i.Buckets...))
	m.check(i, Histogram, err)
	return h
}

// Gauge makes a gauge that a callback of Observe measures.
func (m *Maker) Gauge(i Instrument) metric.Float64ObservableGauge {
	g, err := m.meter.Float64ObservableGauge(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help))
	m.check(i, Gauge, err)
	return g
}

// Total makes a counter that a callback of Observe measures.
func (m *Maker) Total(i Instrument) metric.Float64ObservableCounter {
	c, err := m.meter.Float64ObservableCounter(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help))
	m.check(i, Counter, err)
	return c
}

// Observe registers a callback that measures metrics when they are collected. It may run several
// times at once. The caller calls stop, also if Err is not nil.
func (m *Maker) Observe(measure metric.Callback, observed ...metric.Observable) (stop func() error) {
	registration, err := m.meter.RegisterCallback(measure, observed...)
	if err != nil {
		m.errs = append(m.errs, fmt.Errorf("observe metrics: %w", err))
		return func() error { return nil }
	}
	return registration.Unregister
}
