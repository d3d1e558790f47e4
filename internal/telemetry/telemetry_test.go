package telemetry_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	metricsv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for something that must happen.
const patience = time.Minute

// span is a received span.
type span struct {
	Service, Name, Trace, ID, Parent string
	Begin, End                       int64 // nanoseconds since 1970
	Attributes                       map[string]string
}

// receiver is an OTLP receiver in this process.
type receiver struct {
	tracev1.UnimplementedTraceServiceServer
	address string

	mu      sync.Mutex
	spans   []span
	metrics map[string]bool // names
}

func (r *receiver) Export(_ context.Context, req *tracev1.ExportTraceServiceRequest) (*tracev1.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range req.GetResourceSpans() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				received := span{
					Service: service, Name: s.GetName(), Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
					Parent: hex.EncodeToString(s.GetParentSpanId()), Begin: int64(s.GetStartTimeUnixNano()), End: int64(s.GetEndTimeUnixNano()),
				}
				for _, a := range s.GetAttributes() {
					if received.Attributes == nil {
						received.Attributes = make(map[string]string)
					}
					received.Attributes[a.GetKey()] = a.GetValue().GetStringValue()
				}
				r.spans = append(r.spans, received)
			}
		}
	}
	return &tracev1.ExportTraceServiceResponse{}, nil
}

// meter is the receiver's other half: both services call their method Export.
type meter struct {
	metricsv1.UnimplementedMetricsServiceServer
	r *receiver
}

func (m meter) Export(_ context.Context, req *metricsv1.ExportMetricsServiceRequest) (*metricsv1.ExportMetricsServiceResponse, error) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	for _, resource := range req.GetResourceMetrics() {
		for _, scope := range resource.GetScopeMetrics() {
			for _, metric := range scope.GetMetrics() {
				m.r.metrics[metric.GetName()] = true
			}
		}
	}
	return &metricsv1.ExportMetricsServiceResponse{}, nil
}

func receive(t *testing.T) *receiver {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{address: listener.Addr().String(), metrics: make(map[string]bool)}
	srv := grpc.NewServer(grpc.WaitForHandlers(true))
	tracev1.RegisterTraceServiceServer(srv, r)
	metricsv1.RegisterMetricsServiceServer(srv, meter{r: r})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Errorf("receiver: got %v, want nil", err)
		}
	})
	return r
}

// process runs a function as a process with telemetry does, and sends what it recorded.
func (r *receiver) process(t *testing.T, service string, ratio float64, run func(*telemetry.Telemetry)) {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), telemetry.Config{Endpoint: r.address, SampleRatio: ratio, Metrics: true, MetricsInterval: time.Minute}, service)
	if err != nil {
		t.Fatal(err)
	}
	if !tel.Enabled() {
		t.Error("Enabled: got false, want true")
	}
	run(tel)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := tel.Close(ctx); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// ids returns the ids that the root span of a rollout must have.
func ids(rolloutID string) (traceID, spanID string) {
	sum := sha256.Sum256([]byte(rolloutID))
	return hex.EncodeToString(sum[:16]), hex.EncodeToString(sum[16:24])
}

func child(ctx context.Context, name string) {
	_, s := otel.Tracer("test").Start(ctx, name)
	s.End()
}

func TestAllProcessesContributeToOneTrace(t *testing.T) {
	r := receive(t)
	r.process(t, "orchestrator", 1, func(tel *telemetry.Telemetry) {
		ctx := tel.Rollout(t.Context(), "s.0", 0)
		ctx, outer := otel.Tracer("test").Start(ctx, "play")
		child(ctx, "turn")
		outer.End()
	})
	begin, end := time.Unix(100, 5), time.Unix(200, 7)
	r.process(t, "evaluator", 1, func(tel *telemetry.Telemetry) {
		child(tel.Rollout(t.Context(), "s.0", 0), "evaluate")
		child(tel.Rollout(t.Context(), "s.1", 0), "evaluate")
		ctx, other := otel.Tracer("test").Start(t.Context(), "elsewhere")
		tel.RecordRoot(ctx, telemetry.RolloutSpan("s.0", 0), telemetry.Root{Name: "rollout", Start: begin, End: end, Attributes: []attribute.KeyValue{attribute.String("scenario", "scene")}})
		other.End()
	})
	traceID, rootID := ids("s.0")
	otherTrace, otherRoot := ids("s.1")
	got := make(map[string]span)
	for _, s := range r.spans {
		got[s.Name+" "+s.Trace] = s
	}
	root := got["rollout "+traceID]
	want := span{
		Service: "evaluator", Name: "rollout", Trace: traceID, ID: rootID, Begin: begin.UnixNano(), End: end.UnixNano(),
		Attributes: map[string]string{"scenario": "scene"},
	}
	if diff := cmp.Diff(want, root); diff != "" {
		t.Errorf("root span (-want +got):\n%s", diff)
	}
	play := got["play "+traceID]
	for _, test := range []struct{ span, service, parent string }{
		{"play " + traceID, "orchestrator", rootID},
		{"turn " + traceID, "orchestrator", play.ID},
		{"evaluate " + traceID, "evaluator", rootID},
		{"evaluate " + otherTrace, "evaluator", otherRoot},
	} {
		if s, ok := got[test.span]; !ok || s.Service != test.service || s.Parent != test.parent || s.ID == "" {
			t.Errorf("span %s: got %+v (found %v), want one of %s with parent %s", test.span, s, ok, test.service, test.parent)
		}
	}
	if len(r.spans) != 5 {
		t.Errorf("spans: got %d, want 5, and none of what belongs to no rollout", len(r.spans))
	}
}

// The same rollouts are sampled everywhere: as a root, as a parent of spans of another process, and
// by the SDK itself.
func TestRatio(t *testing.T) {
	const rollouts = 200
	for _, test := range []struct {
		ratio    float64
		min, max int
	}{{0, 0, 0}, {0.5, rollouts / 3, 2 * rollouts / 3}, {1, rollouts, rollouts}} {
		t.Run(fmt.Sprint(test.ratio), func(t *testing.T) {
			r := receive(t)
			r.process(t, "child", test.ratio, func(tel *telemetry.Telemetry) {
				for i := range rollouts {
					child(tel.Rollout(t.Context(), fmt.Sprintf("s.%d", i), 0), "child")
				}
			})
			r.process(t, "root", test.ratio, func(tel *telemetry.Telemetry) {
				for i := range rollouts {
					at := telemetry.RolloutSpan(fmt.Sprintf("s.%d", i), 0)
					if tel.Samples(at) {
						tel.RecordRoot(t.Context(), at, telemetry.Root{Name: "root", Start: time.Unix(1, 0), End: time.Unix(2, 0)})
					}
				}
			})
			found := map[string]map[string]int{"root": {}, "child": {}}
			for _, s := range r.spans {
				found[s.Name][s.Trace]++
			}
			if diff := cmp.Diff(found["root"], found["child"]); diff != "" {
				t.Errorf("traces with children (-traces with a root +got):\n%s", diff)
			}
			if n := len(found["root"]); n < test.min || n > test.max {
				t.Errorf("sampled rollouts: got %d of %d, want %d to %d", n, rollouts, test.min, test.max)
			}
		})
	}
}

// Ratios are nested: what a small one samples, a larger one samples, too.
func TestSampledFollowsFromTheRollout(t *testing.T) {
	r := receive(t)
	sampled := make(map[float64]map[int]bool)
	for _, ratio := range []float64{0.1, 0.5} {
		sampled[ratio] = make(map[int]bool)
		r.process(t, "p", ratio, func(tel *telemetry.Telemetry) {
			for i := range 200 {
				if trace.SpanContextFromContext(tel.Rollout(t.Context(), fmt.Sprintf("s.%d", i), 0)).IsSampled() {
					sampled[ratio][i] = true
				}
			}
		})
	}
	for i := range sampled[0.1] {
		if !sampled[0.5][i] {
			t.Errorf("rollout %d: sampled at 0.1 and not at 0.5", i)
		}
	}
	if a, b := len(sampled[0.1]), len(sampled[0.5]); a == 0 || a >= b {
		t.Errorf("sampled: got %d at 0.1 and %d at 0.5, want some and more", a, b)
	}
}

// A later round of a rollout has its own trace, which is none of another rollout or of a sweep.
func TestRoundsHaveTheirOwnTraces(t *testing.T) {
	known := make(map[trace.TraceID]string)
	for name, at := range map[string]trace.SpanContext{
		"s.1": telemetry.RolloutSpan("s.1", 0), "s.1 in round 1": telemetry.RolloutSpan("s.1", 1), "s.1 in round 11": telemetry.RolloutSpan("s.1", 11),
		"s": telemetry.SweepSpan("s", 0), "s in round 1": telemetry.SweepSpan("s", 1), "s.11": telemetry.RolloutSpan("s.11", 0),
	} {
		if other, taken := known[at.TraceID()]; taken || !at.IsValid() {
			t.Errorf("%s: got the trace of %q, want its own", name, other)
		}
		known[at.TraceID()] = name
	}
}

func TestTraceparent(t *testing.T) {
	if got := telemetry.Traceparent(t.Context()); got != "" {
		t.Errorf("without a trace: got %q, want none", got)
	}
	state, err := trace.ParseTraceState("secret=1")
	if err != nil {
		t.Fatal(err)
	}
	at := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceState: state})
	want := "00-01000000000000000000000000000000-0200000000000000-00"
	if got := telemetry.Traceparent(trace.ContextWithSpanContext(t.Context(), at)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMetricsAreSent(t *testing.T) {
	r := receive(t)
	r.process(t, "p", 1, func(*telemetry.Telemetry) {
		counter, err := otel.Meter("test").Int64Counter("rollouts")
		if err != nil {
			t.Fatal(err)
		}
		counter.Add(t.Context(), 1)
	})
	if !r.metrics["rollouts"] {
		t.Errorf("metrics: got %v, want rollouts among them", r.metrics)
	}
}

func TestTurnedOff(t *testing.T) {
	started, err := telemetry.Start(t.Context(), telemetry.DefaultConfig(), "p")
	if err != nil {
		t.Fatal(err)
	}
	for name, tel := range map[string]*telemetry.Telemetry{"nil": nil, "zero": {}, "without an endpoint": started} {
		t.Run(name, func(t *testing.T) {
			if tel.Enabled() {
				t.Error("Enabled: got true, want false")
			}
			ctx := t.Context()
			if got := tel.Rollout(ctx, "s.0", 0); got != ctx {
				t.Errorf("Rollout: got another context, %v", got)
			}
			if got := testing.AllocsPerRun(100, func() { _ = tel.Rollout(ctx, "s.0", 0) }); got != 0 {
				t.Errorf("allocations of Rollout: got %v, want 0", got)
			}
			tel.RecordRoot(ctx, telemetry.RolloutSpan("s.0", 0), telemetry.Root{Name: "rollout", Start: time.Unix(1, 0), End: time.Unix(2, 0)})
			if err := tel.Close(ctx); err != nil {
				t.Errorf("Close: got %v, want nil", err)
			}
		})
	}
}

// A receiver that is not there does not keep a process from starting or, beyond the time it is
// given, from ending.
func TestNoReceiver(t *testing.T) {
	tel, err := telemetry.Start(t.Context(), telemetry.Config{Endpoint: porttest.Address(t), SampleRatio: 1, Metrics: true, MetricsInterval: time.Minute}, "p")
	if err != nil {
		t.Fatalf("Start: got %v, want nil", err)
	}
	child(tel.Rollout(t.Context(), "s.0", 0), "child")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := tel.Close(ctx); err == nil || !strings.HasPrefix(err.Error(), "stop telemetry: ") {
		t.Errorf("Close: got %v, want an error that begins with \"stop telemetry: \"", err)
	}
}

func TestValidate(t *testing.T) {
	for ratio, ok := range map[float64]bool{0: true, 0.5: true, 1: true, -0.1: false, 1.1: false, math.Inf(1): false, math.NaN(): false} {
		cfg := telemetry.Config{SampleRatio: ratio}
		if err := cfg.Validate(); (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(), "--trace-ratio: ") {
			t.Errorf("Validate of ratio %v: got %v, want nil %v", ratio, err, ok)
		}
		if _, err := telemetry.Start(t.Context(), cfg, "p"); (err == nil) != ok {
			t.Errorf("Start with ratio %v: got %v, want nil %v", ratio, err, ok)
		}
	}
}

func TestFlags(t *testing.T) {
	cfg := telemetry.DefaultConfig()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	cfg.RegisterFlags(flags)
	if err := flags.Parse([]string{"--otlp-endpoint=h:1", "--otlp-tls", "--trace-ratio=0.5", "--otlp-metrics=false", "--otlp-metrics-interval=2s", "--metrics-listen=:1"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(telemetry.Config{Endpoint: "h:1", TLS: true, SampleRatio: 0.5, MetricsInterval: 2 * time.Second, MetricsListen: ":1"}, cfg); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}
