package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// maxSeries bounds the series of one instrument, because clients choose the names of models. What
	// comes later shares the series otel_metric_overflow.
	maxSeries = 2000

	// A scrape needs one request at a time without a body.
	maxScrapes     = 4
	maxHeaderBytes = 16 << 10
	scrapeTimeout  = 30 * time.Second
	headerTimeout  = 5 * time.Second
)

// measuring is a running export of metrics.
type measuring struct {
	provider *sdkmetric.MeterProvider
	server   *http.Server // nil without MetricsListen
	served   chan error
}

// startMetrics starts the exports of metrics that are configured, nil for none.
func startMetrics(ctx context.Context, cfg Config, res *resource.Resource) (*measuring, error) {
	m := &measuring{}
	options := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithCardinalityLimit(maxSeries)}
	if cfg.MetricsListen != "" {
		reader, err := m.serve(ctx, cfg.MetricsListen)
		if err != nil {
			return nil, err
		}
		options = append(options, sdkmetric.WithReader(reader))
	}
	if cfg.Endpoint != "" && cfg.Metrics {
		to := []otlpmetricgrpc.Option{otlpmetricgrpc.WithEndpoint(cfg.Endpoint)}
		if !cfg.TLS {
			to = append(to, otlpmetricgrpc.WithInsecure())
		}
		exporter, err := otlpmetricgrpc.New(ctx, to...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start telemetry to %s: %w", cfg.Endpoint, err), m.close(ctx))
		}
		reader := sdkmetric.NewPeriodicReader(&acceptedExporter{Exporter: exporter, endpoint: cfg.Endpoint}, sdkmetric.WithInterval(cfg.MetricsInterval))
		options = append(options, sdkmetric.WithReader(reader))
	}
	if len(options) == 2 { // no reader
		return nil, nil
	}
	m.provider = sdkmetric.NewMeterProvider(options...)
	return m, nil
}

// serve serves /metrics on an address of its own, and returns the reader that it scrapes.
func (m *measuring) serve(ctx context.Context, address string) (sdkmetric.Reader, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo(),
		otelprometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		return nil, fmt.Errorf("start metrics: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for scrapes on %s: %w: choose another --metrics-listen", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout, ErrorHandling: promhttp.ContinueOnError,
	}))
	m.server = &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: scrapeTimeout + headerTimeout,
		IdleTimeout: 2 * scrapeTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	m.served = make(chan error, 1)
	go func() { m.served <- m.server.Serve(listener) }()
	return reader, nil
}

// close flushes pending metrics until ctx is done, and stops the export. Nil has nothing to close.
func (m *measuring) close(ctx context.Context) error {
	if m == nil {
		return nil
	}
	var errs [3]error
	if m.server != nil {
		errs[0] = m.server.Close()
		if err := <-m.served; !errors.Is(err, http.ErrServerClosed) {
			errs[1] = fmt.Errorf("answer scrapes: %w", err)
		}
	}
	if m.provider != nil {
		errs[2] = m.provider.Shutdown(ctx)
	}
	return errors.Join(errs[:]...)
}

// acceptedExporter sends metrics until the receiver answers that it takes none. It reports that
// once. A reader calls Export once at a time.
type acceptedExporter struct {
	sdkmetric.Exporter
	endpoint string
	refused  bool
}

// Export implements sdkmetric.Exporter.
func (e *acceptedExporter) Export(ctx context.Context, metrics *metricdata.ResourceMetrics) error {
	if e.refused {
		return nil
	}
	err := e.Exporter.Export(ctx, metrics)
	if e.refused = status.Code(err) == codes.Unimplemented; e.refused {
		return fmt.Errorf("the OTLP receiver %s takes no metrics, so none are sent: --otlp-metrics=false says so from the start", e.endpoint)
	}
	return err
}
