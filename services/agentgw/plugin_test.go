package agentgw_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func plugin(address string, timeoutMS int64) *agentgwv1.Player {
	return &agentgwv1.Player{Name: "mine", Kind: &agentgwv1.Player_Plugin{
		Plugin: &agentgwv1.Plugin{Address: address, TimeoutMs: timeoutMS},
	}}
}

// agentFunc is a plug-in agent with one function.
type agentFunc struct {
	agentv1.UnimplementedAgentServiceServer
	act func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error)
}

func (a agentFunc) Act(ctx context.Context, req *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	return a.act(ctx, req)
}

// servePlugin serves a plug-in on a port of its own and returns the address and a function that
// stops it.
func servePlugin(t *testing.T, act func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error)) (address string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.WaitForHandlers(true))
	if act != nil {
		agentv1.RegisterAgentServiceServer(srv, agentFunc{act: act})
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		srv.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve plug-in: %v", err)
		}
	}
	t.Cleanup(stop)
	return listener.Addr().String(), stop
}

func answering(answer *agentv1.ActResponse) func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	return func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) { return answer, nil }
}

func ask(p *agentgwv1.Player) *agentgwv1.RespondRequest {
	return &agentgwv1.RespondRequest{RolloutId: "wifi_off.0", Index: 2, Role: agent, Player: p, View: wifiView(), Tools: scrambled()}
}

func source(id, tool, arguments string) string {
	return fmt.Sprintf("%[1]s_parameters = %[3]s\n%[1]s_response = %[2]s(**%[1]s_parameters)\nprint(repr(%[1]s_response))", id, tool, arguments)
}

func messages(list ...*worldv1.Message) *agentgwv1.RespondResponse {
	return &agentgwv1.RespondResponse{Messages: list}
}

func failure(exception, detail string) *agentgwv1.RespondResponse {
	return &agentgwv1.RespondResponse{Failure: &agentgwv1.Failure{
		Class: agentgwv1.FailureClass_FAILURE_CLASS_MODEL, ExceptionType: exception, Detail: detail}}
}

func calls(list ...*agentv1.ToolCall) *agentv1.ActResponse { return &agentv1.ActResponse{Calls: list} }

// answerTest is an answer of a plug-in and the expected response.
type answerTest struct {
	answer *agentv1.ActResponse
	compat bool
	want   *agentgwv1.RespondResponse
}

func TestPluginAnswers(t *testing.T) {
	runAnswers(t, map[string]answerTest{
		"text": {&agentv1.ActResponse{Text: "Done."}, false, messages(say("Done."))},
		"confidence": {
			&agentv1.ActResponse{Text: "Done.", Confidence: proto.Float64(0.5)},
			false, &agentgwv1.RespondResponse{Messages: messages(say("Done.")).GetMessages(), Confidence: proto.Float64(0.5)},
		},
		"empty": {&agentv1.ActResponse{}, true, messages(say(""))},
		"calls win over text": {
			&agentv1.ActResponse{Text: "Let me see.", Calls: []*agentv1.ToolCall{{Id: "c", Name: "setting_9", ArgumentsJson: `{"on": true}`}}},
			true, messages(call(2, agent, source("c", "set_wifi_status", "{'on': True}"), "c", "setting_9")),
		},
		"missing ids": {
			calls(&agentv1.ToolCall{Name: "setting_9", ArgumentsJson: "{}"}, &agentv1.ToolCall{Id: "call_2", Name: "contact_3", ArgumentsJson: "{}"},
				&agentv1.ToolCall{Id: "a\nb", Name: "contact_3", ArgumentsJson: "{}"}),
			false, messages(
				call(2, agent, source("call_2_", "set_wifi_status", "{}"), "call_2_", "setting_9"),
				call(3, agent, source("call_2", "search_contacts", "{}"), "call_2", "contact_3"),
				call(4, agent, source("call_4", "search_contacts", "{}"), "call_4", "contact_3")),
		},
	})
}

func TestPluginMistakes(t *testing.T) {
	runAnswers(t, map[string]answerTest{
		"confidence of 90 percent": {
			&agentv1.ActResponse{Text: "Done.", Confidence: proto.Float64(90)},
			false, failure("ValueError", "plug-in answered a confidence of 90, expected 0 to 1"),
		},
		"unknown tool": {
			calls(&agentv1.ToolCall{Id: "c", Name: "fly to; moon", ArgumentsJson: "{}"}),
			false, messages(call(2, agent, source("c", "fly_to__moon", "{}"), "c", "fly to; moon")),
		},
		"real name of a scrambled tool": {
			calls(&agentv1.ToolCall{Id: "c", Name: "search_contacts", ArgumentsJson: "{}"}),
			false, messages(call(2, agent, source("c", "search_contacts_", "{}"), "c", "search_contacts")),
		},
		"unknown tool, compatible": {
			calls(&agentv1.ToolCall{Id: "b", Name: "setting_9", ArgumentsJson: "{}"}, &agentv1.ToolCall{Id: "c", Name: "search_contacts", ArgumentsJson: "{}"}),
			true, failure("KeyError", `tool "search_contacts" is not among the role's tools: setting_9, contact_3`),
		},
		"arguments are no JSON": {
			calls(&agentv1.ToolCall{Id: "c", Name: "setting_9", ArgumentsJson: "{'on': True}"}),
			false, messages(call(2, agent, source("c", "set_wifi_status", `"{'on': True}"`), "c", "setting_9")),
		},
		"arguments are no JSON, compatible": {
			calls(&agentv1.ToolCall{Id: "c", Name: "setting_9", ArgumentsJson: "{'on': True}"}),
			true, failure("JSONDecodeError", "arguments of setting_9: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
		},
		"arguments are a text": {
			calls(&agentv1.ToolCall{Id: "c", Name: "setting_9", ArgumentsJson: `"on"`}),
			false, messages(call(2, agent, source("c", "set_wifi_status", "'on'"), "c", "setting_9")),
		},
		"arguments are a list": {
			calls(&agentv1.ToolCall{Id: "c", Name: "setting_9", ArgumentsJson: `[]`}),
			true, messages(call(2, agent, source("c", "set_wifi_status", "[]"), "c", "setting_9")),
		},
	})
}

func TestPluginFloods(t *testing.T) {
	many := make([]*agentv1.ToolCall, 129)
	for i := range many {
		many[i] = &agentv1.ToolCall{Name: "setting_9", ArgumentsJson: "{}"}
	}
	runAnswers(t, map[string]answerTest{
		"flood of calls": {calls(many...), false, failure("ValueError", "plug-in answered 129 calls in one turn, expected at most 128")},
		"flood of text": {
			&agentv1.ActResponse{Text: strings.Repeat("x", 1<<20)}, false,
			failure("ValueError", "plug-in answered an answer of 1048580 bytes, expected at most 524288"),
		},
	})
}

func runAnswers(t *testing.T, tests map[string]answerTest) {
	t.Helper()
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			address, _ := servePlugin(t, answering(test.answer))
			req := ask(plugin(address, 0))
			req.RolloutId, req.Compat = strings.NewReplacer(" ", "_", ",", "").Replace(name), test.compat
			got, err := client.Respond(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("Respond (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPluginSeesConversation(t *testing.T) {
	var seen atomic.Pointer[agentv1.ActRequest]
	address, _ := servePlugin(t, func(_ context.Context, req *agentv1.ActRequest) (*agentv1.ActResponse, error) {
		seen.Store(req)
		return &agentv1.ActResponse{Text: "ok"}, nil
	})
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	failed := message(6, environment, agent, "ValueError: no")
	id, name, exception := "c2", "contact_3", "ValueError: no"
	r := failed.GetResult()
	r.Id, r.Name, r.Exception = &id, &name, &exception
	answered := message(5, environment, agent, "None")
	first, firstName := "c1", "setting_9"
	answered.GetResult().Id, answered.GetResult().Name = &first, &firstName
	req := ask(plugin(address, 0))
	req.Index, req.Turn = 8, 2
	req.View = append(wifiView(),
		message(2, agent, user, "Sure?"),
		call(3, agent, "c1_parameters = {'on': False, 'x': 1e+22}\nc1_response = set_wifi_status(**c1_parameters)\nprint(repr(c1_response))", "c1", "setting_9"),
		call(4, agent, "c2_parameters = '{bad'\nc2_response = search_contacts(**c2_parameters)\nprint(repr(c2_response))", "c2", "contact_3"),
		answered, failed,
		message(7, user, environment, "hidden"),
	)
	if _, err := client.Respond(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	got := seen.Load()
	if got.GetConversationId() == "" || strings.Contains(got.GetConversationId(), "wifi") {
		t.Errorf("conversation id: got %q, want one that does not name the scenario", got.GetConversationId())
	}
	want := &agentv1.ActRequest{
		ConversationId: got.GetConversationId(), Turn: 2,
		Messages: []*agentv1.Message{
			{Speaker: agentv1.Speaker_SPEAKER_SYSTEM, Text: "Do not assume anything."},
			{Speaker: agentv1.Speaker_SPEAKER_USER, Text: messagetext.Content(wifiView()[1])},
			{Speaker: agentv1.Speaker_SPEAKER_AGENT, Text: "Sure?"},
			{Speaker: agentv1.Speaker_SPEAKER_AGENT, Calls: []*agentv1.ToolCall{
				{Id: "c1", Name: "setting_9", ArgumentsJson: `{"on": false, "x": 1e+22}`},
				{Id: "c2", Name: "contact_3", ArgumentsJson: `"{bad"`},
			}},
			{Speaker: agentv1.Speaker_SPEAKER_TOOL, Text: "None", CallId: "c1", ToolName: "setting_9"},
			{Speaker: agentv1.Speaker_SPEAKER_TOOL, Text: "ValueError: no", CallId: "c2", ToolName: "contact_3", Failed: true},
		},
		Tools: []*agentv1.Tool{
			{Name: "setting_9", Description: "Turns wifi on or off.", ParametersJson: scrambled()[0].GetParametersJson()},
			{Name: "contact_3", ParametersJson: scrambled()[1].GetParametersJson()},
		},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("ActRequest (-want +got):\n%s", diff)
	}
}

// TestPluginRetries asks an agent that is never ready, from a caller that retries UNAVAILABLE, as
// the orchestrator does.
func TestPluginRetries(t *testing.T) {
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	var asked atomic.Int32
	address, _ := servePlugin(t, func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) {
		asked.Add(1)
		return nil, status.Error(codes.Unavailable, "warming up")
	})
	var err error
	for range 5 {
		if _, err = client.Respond(t.Context(), ask(plugin(address, 0))); status.Code(err) != codes.Unavailable {
			break
		}
	}
	if got := asked.Load(); got != 5 || status.Code(err) != codes.Aborted || !strings.Contains(err.Error(), "warming up") {
		t.Errorf("an agent that is never ready: got %d calls and %v, want 5, and ABORTED with its reason", got, err)
	}
}

// TestPluginNotGRPC dials a listener that closes every connection at once.
func TestPluginNotGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = conn.Close()
		}
	}()
	defer func() { _ = listener.Close(); <-done }()
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	_, err = client.Respond(t.Context(), ask(plugin(listener.Addr().String(), 0)))
	if got := status.Code(err); got != codes.Unavailable {
		t.Errorf("code: got %v, want Unavailable", err)
	}
}

// TestPluginRestarts stops the plug-in during a turn. The call reaches its successor at the same
// address.
func TestPluginRestarts(t *testing.T) {
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	var calls atomic.Int32
	address, _ := servePlugin(t, func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) {
		if calls.Add(1) < 3 {
			return nil, status.Error(codes.Unavailable, "starting")
		}
		return &agentv1.ActResponse{Text: "here again"}, nil
	})
	got, err := client.Respond(t.Context(), ask(plugin(address, 0)))
	if err != nil {
		t.Fatal(err)
	}
	want := &agentgwv1.RespondResponse{Messages: []*worldv1.Message{say("here again")}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("Respond (-want +got):\n%s", diff)
	}
	if got := calls.Load(); got != 3 {
		t.Errorf("calls of the plug-in: got %d, want 3", got)
	}

	entered := make(chan struct{})
	var stop func()
	address, stop = servePlugin(t, func(ctx context.Context, _ *agentv1.ActRequest) (*agentv1.ActResponse, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	failed := make(chan error, 1)
	req := ask(plugin(address, 0))
	req.RolloutId = "killed"
	go func() {
		_, err := client.Respond(t.Context(), req)
		failed <- err
	}()
	<-entered
	stop()
	if err := <-failed; status.Code(err) != codes.Aborted {
		t.Errorf("after a kill: got %v, want Aborted: it may be this turn that kills", err)
	}
}

// TestPluginReplyIsRecorded asks again after a restart of the gateway, without the plug-in.
func TestPluginReplyIsRecorded(t *testing.T) {
	conn := natstest.Connect(t, t.TempDir())
	var calls atomic.Int32
	address, stop := servePlugin(t, func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) {
		return &agentv1.ActResponse{Text: fmt.Sprint("answer ", calls.Add(1))}, nil
	})
	first := serve(t, agentgw.DefaultConfig(), natstest.Open(t, conn, bus.DefaultConfig()))
	want, err := first.Respond(t.Context(), ask(plugin(address, 0)))
	if err != nil {
		t.Fatal(err)
	}
	other := ask(plugin(address, 0))
	other.Index = 3
	if _, err := first.Respond(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	stop()
	second := serve(t, agentgw.DefaultConfig(), natstest.Open(t, conn, bus.DefaultConfig()))
	got, err := second.Respond(t.Context(), ask(plugin(address, 0)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
	if got := calls.Load(); got != 2 {
		t.Errorf("calls of the plug-in: got %d, want 2", got)
	}
}

// TestPluginConnectionsAreBounded uses more plug-ins than connections.
func TestPluginConnectionsAreBounded(t *testing.T) {
	cfg := agentgw.DefaultConfig()
	cfg.PluginConnections = 1
	client := serve(t, cfg, natstest.Start(t))
	entered := make(chan struct{})
	leave := make(chan struct{})
	busy, _ := servePlugin(t, func(context.Context, *agentv1.ActRequest) (*agentv1.ActResponse, error) {
		close(entered)
		<-leave
		return &agentv1.ActResponse{Text: "first"}, nil
	})
	idle, _ := servePlugin(t, answering(&agentv1.ActResponse{Text: "second"}))
	done := make(chan error, 1)
	go func() {
		_, err := client.Respond(t.Context(), ask(plugin(busy, 0)))
		done <- err
	}()
	<-entered
	req := ask(plugin(idle, 0))
	req.RolloutId = "other"
	if _, err := client.Respond(t.Context(), req); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "too many plug-ins at once: 1 connections are in use") {
		t.Errorf("while the only connection is in use: got %v, want Unavailable and why", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Errorf("first plug-in: got %v, want no error", err)
	}
	if _, err := client.Respond(t.Context(), req); err != nil {
		t.Errorf("after that: got %v, want no error", err)
	}
}

func TestTrace(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	before, propagator := otel.GetTracerProvider(), otel.GetTextMapPropagator()
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	t.Cleanup(func() {
		otel.SetTracerProvider(before)
		otel.SetTextMapPropagator(propagator)
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Errorf("shut tracing down: %v", err)
		}
	})
	var parent atomic.Value
	address, _ := servePlugin(t, func(ctx context.Context, _ *agentv1.ActRequest) (*agentv1.ActResponse, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		parent.Store(strings.Join(md.Get("traceparent"), ","))
		return &agentv1.ActResponse{Text: "ok"}, nil
	})
	client, err := agentgw.NewServer(agentgw.DefaultConfig(), natstest.Start(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	within := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	}))
	if _, err := client.Respond(within, ask(plugin(address, 0))); err != nil {
		t.Fatal(err)
	}
	traces := make(map[string]string)
	for _, span := range recorder.Ended() {
		traces[span.Name()] = span.SpanContext().TraceID().String()
	}
	if len(traces) != 1 || traces["invoke_agent mine"] == "" {
		t.Errorf("spans: got %v, want invoke_agent mine", traces)
	}
	if got, _ := parent.Load().(string); !strings.Contains(got, traces["invoke_agent mine"]) || got == "" {
		t.Errorf("traceparent at the plug-in: got %q, want one of trace %q", got, traces["invoke_agent mine"])
	}
}
