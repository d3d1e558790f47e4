package telemetry

import (
	"net"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	tracev1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

// TestRefusedMetrics exports metrics to a receiver that takes only traces. The exporter reports
// that once and names the flag.
func TestRefusedMetrics(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	tracev1.RegisterTraceServiceServer(server, tracev1.UnimplementedTraceServiceServer{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	address := listener.Addr().String()
	sender, err := otlpmetricgrpc.New(t.Context(), otlpmetricgrpc.WithEndpoint(address), otlpmetricgrpc.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	exporter := &acceptedExporter{Exporter: sender, endpoint: address}
	defer func() {
		if err := exporter.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	first, second := exporter.Export(t.Context(), &metricdata.ResourceMetrics{}), exporter.Export(t.Context(), &metricdata.ResourceMetrics{})
	if first == nil || !strings.Contains(first.Error(), address) || !strings.Contains(first.Error(), "--otlp-metrics=false") {
		t.Errorf("first export: got %v, want an error with the address and the flag", first)
	}
	if second != nil {
		t.Errorf("second export: got %v, want nil", second)
	}
}
