package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	collectormetricsv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortracev1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
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

// wantTree is the tree of spans of one rollout from its first claim to the score, with two
// executions. Turns of scripts have no span. Siblings are sorted by name.
const wantTree = `rollout [evaluator]
  create_session [toolhost]
  evaluate [evaluator]
  execute_tool end_conversation [toolhost]
  execute_tool set_wifi_status [toolhost]
`

// traced starts four processes that send their spans. The command line sends none.
func traced(t *testing.T, args ...string) (*receiver, *cluster.Cluster) {
	t.Helper()
	r, endpoint := receive(t)
	return r, startCluster(t, cluster.Config{Args: append([]string{"--otlp-endpoint", endpoint}, args...)})
}

// received stops the services, which send their last spans, and returns all.
func (r *receiver) received(t *testing.T, services *cluster.Cluster) []recorded {
	t.Helper()
	if err := services.Stop(); err != nil {
		t.Fatal(err)
	}
	return r.sent()
}

// sent returns the spans that have arrived.
func (r *receiver) sent() []recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// TestOneRolloutIsOneTrace runs a rollout over four processes and checks the tree of its spans and
// what the root says.
func TestOneRolloutIsOneTrace(t *testing.T) {
	t.Parallel()
	r, services := traced(t)
	toolsandbox(t, append([]string{"run", "--agent", "oracle", "--sweep-id", "wifi", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi"}, services.ClientArgs()...)...)
	spans := r.received(t, services)
	roots := checkTraces(t, spans)
	root, ok := roots["wifi.0"]
	if !ok || len(roots) != 1 {
		t.Fatalf("roots: got %v, want that of wifi.0", slices.Collect(maps.Keys(roots)))
	}
	if diff := cmp.Diff(wantTree, tree(spans, root, 0)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	got := attributes(root.span)
	delete(got, "toolsandbox.seed") // derived from the sweep's
	want := map[string]string{
		"toolsandbox.sweep.id": "wifi", "toolsandbox.rollout.id": "wifi.0", "toolsandbox.scenario": "turn_off_wifi", "toolsandbox.variant": "plain",
		"toolsandbox.categories": got["toolsandbox.categories"], "gen_ai.agent.name": "oracle", "toolsandbox.user.name": "scripted",
		"toolsandbox.trial": "0", "toolsandbox.round": "0", "toolsandbox.score": "1", "toolsandbox.end": "finished", "toolsandbox.messages": got["toolsandbox.messages"],
	}
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(got["toolsandbox.categories"], "SINGLE_TOOL_CALL") {
		t.Errorf("attributes of the root (-want +got):\n%s", diff)
	}
	if links := root.span.GetLinks(); len(links) != 1 || !slices.ContainsFunc(spans, func(s recorded) bool {
		return s.span.GetName() == "create_sweep" && bytes.Equal(s.span.GetSpanId(), links[0].GetSpanId())
	}) {
		t.Errorf("links of the root: got %v, want the sweep's span", links)
	}
	if sum := sha256.Sum256([]byte("wifi.0")); !bytes.Equal(root.span.GetTraceId(), sum[:16]) {
		t.Errorf("trace id: got %x, want that of the rollout's id, %x", root.span.GetTraceId(), sum[:16])
	}
	names := make(map[string]bool)
	for _, s := range spans {
		names[s.span.GetName()] = true
		if text := strings.ToLower(fmt.Sprint(s.span)); strings.Contains(text, "milestone") || strings.Contains(text, "minefield") || strings.Contains(text, "wifi_status(") {
			t.Errorf("span %s of %s tells how it is scored or what was said: %s", s.span.GetName(), s.service, text)
		}
	}
	if len(names) != 1+len(strings.Split(strings.TrimSpace(wantTree), "\n")) {
		t.Errorf("names: got %v, want those of the tree and create_sweep", slices.Sorted(maps.Keys(names)))
	}
}

// TestLongTracesOfTakenOverRollouts kills the orchestrator while an agent thinks, and resumes the
// sweep once with a new round. Each rollout has one whole trace.
func TestLongTracesOfTakenOverRollouts(t *testing.T) {
	t.Parallel()
	const trials = 4
	r, services := traced(t)
	asked, parents := &quota{}, &sync.Map{}
	asked.set(trials)
	plug := serveAgent(t, func(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
		sent, _ := metadata.FromIncomingContext(ctx)
		if sent := strings.Join(sent.Get("traceparent"), ","); c.Traceparent != sent {
			t.Errorf("traceparent of a conversation: got %q, want that of the metadata, %q", c.Traceparent, sent)
		}
		parents.Store(strings.Join(sent.Get("traceparent"), ","), sent.Get("baggage"))
		if !asked.pass(ctx) {
			return agent.Reply{}, ctx.Err()
		}
		return switchWifiOff(ctx, c)
	})
	out := filepath.Join(t.TempDir(), "out")
	run := startRemote(t, services, "run", "--agent", plug, "--sweep-id", "killed", "--trials", strconv.Itoa(trials), "--out", out, "turn_off_wifi")
	eventually(t, "turns", func() bool { return asked.rest() == 0 })
	if err := errors.Join(services.Kill(cluster.Orchestrator), services.Start(t.Context(), cluster.Orchestrator)); err != nil {
		t.Fatal(err)
	}
	asked.set(unlimited)
	run.succeed(t)
	spans := r.received(t, services)
	roots := checkTraces(t, spans)
	if len(roots) != trials {
		t.Errorf("roots: got %d, want %d", len(roots), trials)
	}
	claims := 0
	for _, root := range roots {
		claims += len(root.span.GetEvents())
	}
	if claims <= trials {
		t.Errorf("claims: got %d of %d rollouts, want some of a second orchestrator", claims, trials)
	}
	parents.Range(func(parent, baggage any) bool {
		if len(baggage.([]string)) > 0 {
			t.Errorf("the agent got baggage %q, want a traceparent alone", baggage)
		}
		checkTraceparent(t, parent.(string), spans)
		return true
	})
}

// TestRequestsAndWaitsHaveSpans plays a model whose provider refuses the first request.
func TestRequestsAndWaitsHaveSpans(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		w.Header().Set("Content-Type", "application/json")
		if bytes.Contains(body, []byte("set_wifi_status")) && requests.Add(1) == 1 { // not the check of players
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"error": {"message": "no secret"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"model": "m-2026", "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "a private answer"}}], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}`))
	}))
	t.Cleanup(provider.Close)
	for name, content := range map[string]bool{"plain": false, "content": true} {
		requests.Store(0)
		r, endpoint := receive(t)
		toolsandbox(t, "run", "--otlp-endpoint", endpoint, "--trace-content="+strconv.FormatBool(content), "--agent", "openai:m", "--base-url", provider.URL+"/v1",
			"--out", filepath.Join(t.TempDir(), name), "turn_off_wifi")
		r.mu.Lock()
		spans := slices.Clone(r.spans)
		r.mu.Unlock()
		roots := checkTraces(t, spans)
		if len(roots) != 1 {
			t.Fatalf("%s: roots: got %d, want 1", name, len(roots))
		}
		var sends []map[string]string
		waits := 0
		for _, s := range spans {
			switch s.span.GetName() {
			case "POST":
				sends = append(sends, attributes(s.span))
			case "wait backoff", "wait limit":
				waits++
			}
			if held := strings.Contains(fmt.Sprint(s.span), "a private answer") || strings.Contains(fmt.Sprint(s.span), "no secret"); held && !content {
				t.Errorf("%s: span %s has content: %v", name, s.span.GetName(), s.span)
			}
		}
		slices.SortFunc(sends, func(a, b map[string]string) int {
			return strings.Compare(a["http.request.resend_count"], b["http.request.resend_count"])
		})
		if len(sends) < 2 || waits == 0 {
			t.Fatalf("%s: got %d requests and %d waits, want at least 2 and 1", name, len(sends), waits)
		}
		for key, want := range map[string]string{
			"http.response.status_code": "200", "gen_ai.response.model": "m-2026", "gen_ai.response.finish_reasons": "[stop]", "toolsandbox.retry.reason": "503",
			"gen_ai.usage.input_tokens": "7", "gen_ai.usage.output_tokens": "3",
		} {
			if got := sends[len(sends)-1][key]; got != want {
				t.Errorf("%s: %s: got %q, want %q", name, key, got, want)
			}
		}
		said := slices.ContainsFunc(spans, func(s recorded) bool {
			return strings.Contains(attributes(s.span)["gen_ai.output.messages"], "a private answer")
		})
		if said != content {
			t.Errorf("%s: messages in spans: got %v, want %v", name, said, content)
		}
	}
}

// TestRoundsAreLinked plays a rollout whose provider refuses it, and resumes it. Each round has a
// trace, and the second links to the first.
func TestRoundsAreLinked(t *testing.T) {
	t.Parallel()
	var works atomic.Bool
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		w.Header().Set("Content-Type", "application/json")
		if bytes.Contains(body, []byte("set_wifi_status")) && !works.Load() {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte(`{"choices": [{"message": {"role": "assistant", "content": "no"}}], "error": null}`))
	}))
	t.Cleanup(provider.Close)
	r, endpoint := receive(t)
	flags := []string{"run", "--otlp-endpoint", endpoint, "--sweep-id", "again", "--agent", "openai:m", "--base-url", provider.URL + "/v1", "--floors=false", "--out", filepath.Join(t.TempDir(), "out")}
	refused := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), append(flags, "turn_off_wifi")...)
	if printed, err := refused.CombinedOutput(); err == nil {
		t.Fatalf("a run whose provider refuses it: got no error\n%s", printed)
	}
	works.Store(true)
	toolsandbox(t, append(flags, "--resume", "turn_off_wifi")...)
	r.mu.Lock()
	defer r.mu.Unlock()
	for round, want := range []struct {
		failed bool
		links  []trace.SpanContext
	}{
		{true, []trace.SpanContext{telemetry.SweepSpan("again", 0)}},
		{false, []trace.SpanContext{telemetry.SweepSpan("again", 1), telemetry.RolloutSpan("again.0", 0)}},
	} {
		at := telemetry.RolloutSpan("again.0", int32(round))
		i := slices.IndexFunc(r.spans, func(s recorded) bool {
			return s.span.GetName() == "rollout" && hex.EncodeToString(s.span.GetTraceId()) == at.TraceID().String()
		})
		if i < 0 {
			t.Fatalf("round %d: no root", round)
		}
		root := r.spans[i].span
		if failed := root.GetStatus().GetCode() == tracev1.Status_STATUS_CODE_ERROR; failed != want.failed {
			t.Errorf("round %d: red: got %v, want %v", round, failed, want.failed)
		}
		var links, wanted []string
		for _, link := range root.GetLinks() {
			links = append(links, hex.EncodeToString(link.GetTraceId())+hex.EncodeToString(link.GetSpanId()))
		}
		for _, link := range want.links {
			wanted = append(wanted, link.TraceID().String()+link.SpanID().String())
		}
		if diff := cmp.Diff(wanted, links); diff != "" {
			t.Errorf("round %d: links (-want +got):\n%s", round, diff)
		}
	}
}

// checkTraces checks that each trace has one root and no orphan, that children are within it, that
// no trace is of anything but a rollout or a sweep, and that no span is red. It returns the roots
// of the rollouts by id.
func checkTraces(t *testing.T, spans []recorded) map[string]recorded {
	t.Helper()
	roots, byID, traces := make(map[string]recorded), make(map[string]recorded), make(map[string]int)
	for _, s := range spans {
		byID[hex.EncodeToString(s.span.GetTraceId())+hex.EncodeToString(s.span.GetSpanId())] = s
		traces[hex.EncodeToString(s.span.GetTraceId())] += 0
		if len(s.span.GetParentSpanId()) > 0 {
			continue
		}
		traces[hex.EncodeToString(s.span.GetTraceId())]++
		switch s.span.GetName() {
		case "rollout":
			roots[attributes(s.span)["toolsandbox.rollout.id"]] = s
		case "create_sweep":
		default:
			t.Errorf("root %s: want a rollout or a sweep", s.span.GetName())
		}
	}
	for id, n := range traces {
		if n != 1 {
			t.Errorf("trace %s: got %d roots, want 1", id, n)
		}
	}
	for _, s := range spans {
		name := s.span.GetName()
		if status := s.span.GetStatus(); status.GetCode() == tracev1.Status_STATUS_CODE_ERROR && name != "POST" {
			t.Errorf("span %s is an error: %s", name, status.GetMessage())
		}
		if len(s.span.GetParentSpanId()) == 0 {
			continue
		}
		parent, ok := byID[hex.EncodeToString(s.span.GetTraceId())+hex.EncodeToString(s.span.GetParentSpanId())]
		if !ok {
			t.Errorf("span %s of %s is an orphan", name, s.service)
			continue
		}
		early := time.Duration(parent.span.GetStartTimeUnixNano() - s.span.GetStartTimeUnixNano())
		late := time.Duration(s.span.GetEndTimeUnixNano() - parent.span.GetEndTimeUnixNano())
		if early > 0 || late > 0 {
			t.Errorf("span %s of %s: begins %s before its parent %s, ends %s after it", name, s.service, early, parent.span.GetName(), late)
		}
	}
	return roots
}

// attributes returns the attributes of a span as texts.
func attributes(span *tracev1.Span) map[string]string {
	texts := make(map[string]string)
	for _, a := range span.GetAttributes() {
		value := a.GetValue()
		text := value.GetStringValue()
		switch {
		case value.GetArrayValue() != nil:
			var list []string
			for _, item := range value.GetArrayValue().GetValues() {
				list = append(list, item.GetStringValue())
			}
			text = fmt.Sprint(list)
		case text == "":
			_, text, _ = strings.Cut(strings.TrimSpace(fmt.Sprint(value)), ":")
		}
		texts[a.GetKey()] = text
	}
	return texts
}

// tree prints a span and its descendants.
func tree(spans []recorded, root recorded, depth int) string {
	var children []string
	for _, s := range spans {
		if bytes.Equal(s.span.GetParentSpanId(), root.span.GetSpanId()) && bytes.Equal(s.span.GetTraceId(), root.span.GetTraceId()) {
			children = append(children, tree(spans, s, depth+1))
		}
	}
	slices.Sort(children)
	return fmt.Sprintf("%s%s [%s]\n%s", strings.Repeat("  ", depth), root.span.GetName(), root.service, strings.Join(children, ""))
}
