// Package telemetry exports OpenTelemetry traces and metrics through OTLP. Every rollout has its
// own trace, whose id derives from the rollout's id, so that all processes contribute to the same
// trace, also after restarts.
package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolsandbox/toolsandbox/internal/flagrule"
)

const metricInterval = 15 * time.Second

// Config configures the export.
type Config struct {
	// Endpoint is the host:port of an OTLP gRPC receiver. Empty turns telemetry off.
	Endpoint string
	// TLS uses the system's certificate authorities for the connection.
	TLS bool
	// SampleRatio is the share of traced rollouts, 0 to 1. Every process selects the same rollouts.
	SampleRatio float64
}

// DefaultConfig returns telemetry turned off. If it is turned on, every rollout is traced.
func DefaultConfig() Config { return Config{SampleRatio: 1} }

// RegisterFlags adds the flags of this package.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Endpoint, "otlp-endpoint", c.Endpoint, "`host:port` of an OTLP gRPC receiver, e.g. localhost:4317 (default: no telemetry)")
	fs.BoolVar(&c.TLS, "otlp-tls", c.TLS, "use TLS to the OTLP receiver")
	fs.Float64Var(&c.SampleRatio, "trace-ratio", c.SampleRatio, "sampling ratio of traces per rollout, 0 to 1")
	flagrule.Needs(fs, "otlp-endpoint", "otlp-tls", "trace-ratio")
}

// Validate names the first field that is out of range.
func (c Config) Validate() error {
	if !(c.SampleRatio >= 0 && c.SampleRatio <= 1) {
		return fmt.Errorf("--trace-ratio: %v given, expected 0 to 1", c.SampleRatio)
	}
	if _, port, err := net.SplitHostPort(c.Endpoint); c.Endpoint != "" && (err != nil || port == "") {
		return fmt.Errorf("--otlp-endpoint: %q given, expected host:port, e.g. localhost:4317", c.Endpoint)
	}
	return nil
}

// Telemetry is a running export. The zero value and nil export nothing. Safe for concurrent use.
type Telemetry struct {
	threshold uint64
	spans     *otlptrace.Exporter
	traces    *sdktrace.TracerProvider
	metrics   *sdkmetric.MeterProvider
}

// Start installs the process's tracer and meter providers. service is the OpenTelemetry service
// name. The caller closes the result to flush pending data.
func Start(ctx context.Context, cfg Config, service string) (*Telemetry, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	otel.SetTextMapPropagator(propagation.TraceContext{})
	if cfg.Endpoint == "" {
		return &Telemetry{}, nil
	}
	traceOpts := []otlptracegrpc.Option{otlptracegrpc.WithEndpoint(cfg.Endpoint)}
	metricOpts := []otlpmetricgrpc.Option{otlpmetricgrpc.WithEndpoint(cfg.Endpoint)}
	if !cfg.TLS {
		traceOpts = append(traceOpts, otlptracegrpc.WithInsecure())
		metricOpts = append(metricOpts, otlpmetricgrpc.WithInsecure())
	}
	spans, err := otlptracegrpc.New(ctx, traceOpts...)
	if err != nil {
		return nil, fmt.Errorf("start telemetry to %s: %w", cfg.Endpoint, err)
	}
	metrics, err := otlpmetricgrpc.New(ctx, metricOpts...)
	if err != nil {
		return nil, fmt.Errorf("start telemetry to %s: %w", cfg.Endpoint, errors.Join(err, spans.Shutdown(ctx)))
	}
	res := resource.NewSchemaless(attribute.String("service.name", service))
	t := &Telemetry{
		threshold: threshold(cfg.SampleRatio),
		spans:     spans,
		traces: sdktrace.NewTracerProvider(
			sdktrace.WithBatcher(spans),
			sdktrace.WithResource(res),
			sdktrace.WithIDGenerator(generator{}),
			sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.SampleRatio))),
		),
		metrics: sdkmetric.NewMeterProvider(
			sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics, sdkmetric.WithInterval(metricInterval))),
			sdkmetric.WithResource(res),
		),
	}
	otel.SetTracerProvider(t.traces)
	otel.SetMeterProvider(t.metrics)
	return t, nil
}

// Enabled reports whether anything is exported.
func (t *Telemetry) Enabled() bool { return t != nil && t.traces != nil }

// Close flushes pending data until ctx is done, and stops the export.
func (t *Telemetry) Close(ctx context.Context) error {
	if !t.Enabled() {
		return nil
	}
	// The provider does not stop its exporter if ctx ends first.
	if err := errors.Join(t.traces.Shutdown(ctx), t.metrics.Shutdown(ctx), t.spans.Shutdown(ctx)); err != nil {
		return fmt.Errorf("stop telemetry: %w", err)
	}
	return nil
}

// Rollout returns ctx within the trace of a rollout, below its root span. Without telemetry it
// returns ctx.
func (t *Telemetry) Rollout(ctx context.Context, rolloutID string) context.Context {
	if !t.Enabled() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, t.root(rolloutID))
}

// RecordRoot records the root span of a rollout's trace. Exactly one process calls it, once, when
// it knows the outcome.
func (t *Telemetry) RecordRoot(ctx context.Context, rolloutID, name string, begin, end time.Time, attributes ...attribute.KeyValue) {
	if !t.Enabled() {
		return
	}
	root := t.root(rolloutID)
	if !root.IsSampled() {
		return
	}
	ctx = context.WithValue(trace.ContextWithSpanContext(ctx, trace.SpanContext{}), rootKey{}, root)
	_, span := t.traces.Tracer("toolsandbox").Start(ctx, name,
		trace.WithNewRoot(), trace.WithTimestamp(begin), trace.WithAttributes(attributes...))
	span.End(trace.WithTimestamp(end))
}

// root returns the span context of a rollout's root span. Its ids are a digest of the rollout's id,
// and its trace id decides on sampling.
func (t *Telemetry) root(rolloutID string) trace.SpanContext {
	sum := sha256.Sum256([]byte(rolloutID))
	cfg := trace.SpanContextConfig{TraceID: trace.TraceID(sum[:16]), SpanID: trace.SpanID(sum[16:24]), Remote: true}
	// The SDK's ratio sampler uses the same rule, so roots and orphans agree.
	if binary.BigEndian.Uint64(cfg.TraceID[8:16])>>1 < t.threshold {
		cfg.TraceFlags = trace.FlagsSampled
	}
	return trace.NewSpanContext(cfg)
}

func threshold(ratio float64) uint64 {
	if ratio >= 1 {
		return math.MaxUint64
	}
	return uint64(ratio * (1 << 63))
}
