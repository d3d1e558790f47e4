package e2e_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	collectormetricsv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortracev1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// receiver is an OTLP receiver that stores all spans.
type receiver struct {
	collectortracev1.UnimplementedTraceServiceServer

	mu    sync.Mutex
	spans []recorded

	gauges *metrics
}

type recorded struct {
	service string
	span    *tracev1.Span
}

// Export implements TraceService.
func (r *receiver) Export(_ context.Context, req *collectortracev1.ExportTraceServiceRequest) (*collectortracev1.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range req.GetResourceSpans() {
		service := ""
		for _, attribute := range resource.GetResource().GetAttributes() {
			if attribute.GetKey() == "service.name" {
				service = attribute.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				r.spans = append(r.spans, recorded{service, span})
			}
		}
	}
	return &collectortracev1.ExportTraceServiceResponse{}, nil
}

// metrics receives metrics and keeps gauges.
type metrics struct {
	collectormetricsv1.UnimplementedMetricsServiceServer

	mu       sync.Mutex
	received []gauge
}

// gauge is a received value, with the address of the process that sent it.
type gauge struct {
	name, from string
	value      float64
}

// Export implements MetricsService.
func (m *metrics) Export(ctx context.Context, req *collectormetricsv1.ExportMetricsServiceRequest) (*collectormetricsv1.ExportMetricsServiceResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, _ := peer.FromContext(ctx)
	for _, resource := range req.GetResourceMetrics() {
		for _, scope := range resource.GetScopeMetrics() {
			for _, metric := range scope.GetMetrics() {
				for _, point := range metric.GetGauge().GetDataPoints() {
					m.received = append(m.received, gauge{metric.GetName(), from.Addr.String(), point.GetAsDouble()})
				}
			}
		}
	}
	return &collectormetricsv1.ExportMetricsServiceResponse{}, nil
}

// of returns the values of a gauge since forget was called.
func (m *metrics) of(name string) []gauge {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.received), func(g gauge) bool { return g.name != name })
}

// forget drops all values.
func (m *metrics) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.received = nil
}

func receive(t *testing.T) (*receiver, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{gauges: &metrics{}}
	server := grpc.NewServer()
	collectortracev1.RegisterTraceServiceServer(server, r)
	collectormetricsv1.RegisterMetricsServiceServer(server, r.gauges)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return r, listener.Addr().String()
}

// wantTree is the tree of spans of one rollout from the command line to the score, with two
// executions and three player turns. Siblings are sorted by name.
const wantTree = `rollout turn_off_wifi [toolsandbox]
  play turn_off_wifi [orchestrator]
    evaluate turn_off_wifi [evaluator]
    toolsandbox.agentgw.v1.AgentGatewayService/Respond [orchestrator]
      toolsandbox.agentgw.v1.AgentGatewayService/Respond [agentgw]
        chat oracle [agentgw]
    toolsandbox.agentgw.v1.AgentGatewayService/Respond [orchestrator]
      toolsandbox.agentgw.v1.AgentGatewayService/Respond [agentgw]
        chat oracle [agentgw]
    toolsandbox.agentgw.v1.AgentGatewayService/Respond [orchestrator]
      toolsandbox.agentgw.v1.AgentGatewayService/Respond [agentgw]
        chat scripted [agentgw]
    toolsandbox.toolhost.v1.ToolHostService/CreateSession [orchestrator]
      toolsandbox.toolhost.v1.ToolHostService/CreateSession [toolhost]
    toolsandbox.toolhost.v1.ToolHostService/Execute [orchestrator]
      toolsandbox.toolhost.v1.ToolHostService/Execute [toolhost]
        execute_tool end_conversation [toolhost]
    toolsandbox.toolhost.v1.ToolHostService/Execute [orchestrator]
      toolsandbox.toolhost.v1.ToolHostService/Execute [toolhost]
        execute_tool set_wifi_status [toolhost]
`

// TestOneRolloutIsOneTrace runs a rollout over four processes and checks the tree of its spans.
func TestOneRolloutIsOneTrace(t *testing.T) {
	t.Parallel()
	r, endpoint := receive(t)
	services, err := cluster.Start(t.Context(), cluster.Config{Bin: bin, Dir: t.TempDir(), Args: []string{"--otlp-endpoint", endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	toolsandbox(t, append([]string{"run", "--agent", "oracle", "--otlp-endpoint", endpoint, "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi"}, services.ClientArgs()...)...)
	if err := services.Stop(); err != nil { // sends pending spans
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	root := slices.IndexFunc(r.spans, func(s recorded) bool { return s.span.GetName() == "rollout turn_off_wifi" })
	if root < 0 {
		t.Fatalf("no root span among %d spans", len(r.spans))
	}
	if parent := r.spans[root].span.GetParentSpanId(); len(parent) != 0 {
		t.Errorf("parent of the root span: got %x, want none", parent)
	}
	if diff := cmp.Diff(wantTree, r.tree(r.spans[root], 0)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	for _, s := range r.spans {
		if text := strings.ToLower(fmt.Sprint(s.span)); strings.Contains(text, "milestone") || strings.Contains(text, "minefield") {
			t.Errorf("span %s of %s tells how it is scored: %s", s.span.GetName(), s.service, text)
		}
	}
}

// tree prints a span and its descendants.
func (r *receiver) tree(root recorded, depth int) string {
	var children []string
	for _, s := range r.spans {
		if hex.EncodeToString(s.span.GetParentSpanId()) == hex.EncodeToString(root.span.GetSpanId()) &&
			hex.EncodeToString(s.span.GetTraceId()) == hex.EncodeToString(root.span.GetTraceId()) {
			children = append(children, r.tree(s, depth+1))
		}
	}
	slices.Sort(children)
	return fmt.Sprintf("%s%s [%s]\n%s", strings.Repeat("  ", depth), root.span.GetName(), root.service, strings.Join(children, ""))
}
