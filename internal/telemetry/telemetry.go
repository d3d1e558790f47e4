// Package telemetry exports OpenTelemetry traces and metrics through OTLP, and metrics to scrapes
// of Prometheus. Every rollout has its own trace, whose id derives from the rollout's id, so that
// all processes contribute to the same trace, also after restarts. The names of spans and
// attributes are those of the semantic conventions for generative AI, release 0.1.0.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolsandbox/toolsandbox/internal/flagrule"
	"github.com/toolsandbox/toolsandbox/internal/version"
)

// Ended spans wait in a queue for the next batch. A full queue drops spans. A killed process loses
// the spans of the last spanDelay.
const (
	spanQueue = 16_384
	spanBatch = 2_048
	spanDelay = time.Second
)

// Config configures the export.
type Config struct {
	// Endpoint is the host:port of an OTLP gRPC receiver. Empty turns telemetry off.
	Endpoint string
	// TLS uses the system's certificate authorities for the connection.
	TLS bool
	// SampleRatio is the share of traced rollouts, 0 to 1. Every process selects the same rollouts.
	SampleRatio float64
	// Metrics sends metrics to Endpoint, too.
	Metrics bool
	// MetricsInterval is the time between two exports of metrics.
	MetricsInterval time.Duration
	// MetricsListen is the host:port of /metrics for Prometheus, in plain text. Empty means that there
	// is none.
	MetricsListen string
	// Content adds messages, arguments and results to the spans.
	Content bool
}

// DefaultConfig returns telemetry turned off. If it is turned on, every rollout is traced and
// metrics are sent.
func DefaultConfig() Config {
	return Config{SampleRatio: 1, Metrics: true, MetricsInterval: 15 * time.Second}
}

// RegisterFlags adds the flags of this package.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Endpoint, "otlp-endpoint", c.Endpoint, "`host:port` of an OTLP gRPC receiver, e.g. localhost:4317 (default: no telemetry)")
	fs.BoolVar(&c.TLS, "otlp-tls", c.TLS, "use TLS to the OTLP receiver")
	fs.Float64Var(&c.SampleRatio, "trace-ratio", c.SampleRatio, "sampling ratio of traces per rollout, 0 to 1")
	fs.BoolVar(&c.Metrics, "otlp-metrics", c.Metrics, "send metrics to the OTLP receiver, too; false for one that takes only traces, such as Jaeger")
	fs.DurationVar(&c.MetricsInterval, "otlp-metrics-interval", c.MetricsInterval, "time between two exports of metrics to the OTLP receiver")
	fs.StringVar(&c.MetricsListen, "metrics-listen", c.MetricsListen, "`host:port` of /metrics for Prometheus, in plain text (default: no such port)")
	fs.BoolVar(&c.Content, "trace-content", c.Content, "record messages, arguments and results of tools in traces")
	flagrule.Needs(fs, "otlp-endpoint", "otlp-tls", "trace-ratio", "trace-content", "otlp-metrics", "otlp-metrics-interval")
}

// Validate names the first field that is out of range.
func (c Config) Validate() error {
	if !(c.SampleRatio >= 0 && c.SampleRatio <= 1) {
		return fmt.Errorf("--trace-ratio: %v given, expected 0 to 1", c.SampleRatio)
	}
	if _, port, err := net.SplitHostPort(c.Endpoint); c.Endpoint != "" && (err != nil || port == "") {
		return fmt.Errorf("--otlp-endpoint: %q given, expected host:port, e.g. localhost:4317", c.Endpoint)
	}
	if c.Endpoint != "" && c.Metrics && c.MetricsInterval <= 0 {
		return fmt.Errorf("--otlp-metrics-interval: %s given, expected more than 0s", c.MetricsInterval)
	}
	if _, port, err := net.SplitHostPort(c.MetricsListen); c.MetricsListen != "" && (err != nil || port == "") {
		return fmt.Errorf("--metrics-listen: %q given, expected host:port, e.g. :7405", c.MetricsListen)
	}
	return nil
}

// Telemetry is a running export. The zero value and nil export nothing. Safe for concurrent use.
type Telemetry struct {
	threshold uint64
	content   bool
	spans     *otlptrace.Exporter
	traces    *sdktrace.TracerProvider
	tracer    trace.Tracer
	metrics   *measuring
}

// Start installs the process's tracer and meter providers. service is the OpenTelemetry service
// name. The caller closes the result to flush pending data.
func Start(ctx context.Context, cfg Config, service string) (*Telemetry, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	otel.SetTextMapPropagator(propagation.TraceContext{})
	// Processes of one service have the same name, and another id each.
	res := resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", version.Version),
		attribute.String("service.instance.id", uuid.NewString()))
	metrics, err := startMetrics(ctx, cfg, res)
	if err != nil {
		return nil, err
	}
	if metrics != nil {
		otel.SetMeterProvider(metrics.provider)
	}
	if cfg.Endpoint == "" {
		return &Telemetry{metrics: metrics}, nil
	}
	traceOpts := []otlptracegrpc.Option{otlptracegrpc.WithEndpoint(cfg.Endpoint)}
	if !cfg.TLS {
		traceOpts = append(traceOpts, otlptracegrpc.WithInsecure())
	}
	spans, err := otlptracegrpc.New(ctx, traceOpts...)
	if err != nil {
		return nil, fmt.Errorf("start telemetry to %s: %w", cfg.Endpoint, errors.Join(err, metrics.close(ctx)))
	}
	t := &Telemetry{
		threshold: threshold(cfg.SampleRatio),
		content:   cfg.Content,
		spans:     spans,
		traces: sdktrace.NewTracerProvider(
			sdktrace.WithBatcher(spans, sdktrace.WithMaxQueueSize(spanQueue), sdktrace.WithMaxExportBatchSize(spanBatch), sdktrace.WithBatchTimeout(spanDelay)),
			sdktrace.WithResource(res),
			sdktrace.WithIDGenerator(generator{}),
			sdktrace.WithSampler(sdktrace.ParentBased(rootSampler{})),
		),
		metrics: metrics,
	}
	t.tracer = t.traces.Tracer(Scope)
	otel.SetTracerProvider(t.traces)
	return t, nil
}

// Enabled reports whether spans are exported.
func (t *Telemetry) Enabled() bool { return t != nil && t.traces != nil }

// Measures reports whether metrics are exported.
func (t *Telemetry) Measures() bool { return t != nil && t.metrics != nil }

// Content reports whether spans have messages, arguments and results.
func (t *Telemetry) Content() bool { return t.Enabled() && t.content }

// flushLimit is the timeout of Finish.
const flushLimit = 2 * time.Second

// Finish flushes pending data for up to two seconds, also when ctx is done, and stops the export.
// It logs what was not sent.
func (t *Telemetry) Finish(ctx context.Context, logger *slog.Logger) {
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushLimit)
	defer cancel()
	if err := t.Close(flush); err != nil {
		logger.Warn("telemetry is incomplete", "error", err)
	}
}

// Close flushes pending data until ctx is done, and stops the export.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	var errs [3]error
	if t.Enabled() {
		// The provider does not stop its exporter if ctx ends first.
		errs[0], errs[1] = t.traces.Shutdown(ctx), t.spans.Shutdown(ctx)
	}
	errs[2] = t.metrics.close(ctx)
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("stop telemetry: %w", err)
	}
	return nil
}
