package agent_test

import (
	"bufio"
	"context"
	"errors"
	"math"
	"net"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs an agent in memory. stop ends it and returns what ServeListener returned.
func serve(t *testing.T, a agent.Agent) (conn *grpc.ClientConn, stop func() error) {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- agent.ServeListener(ctx, listener, a) }()
	conn, err := grpc.NewClient("passthrough:///agent", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-served
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
		_ = conn.Close()
	})
	return conn, stop
}

func TestAct(t *testing.T) {
	one, err := agent.NewToolCall("a", map[string]any{"on": true})
	if err != nil {
		t.Fatal(err)
	}
	one.ID = "x"
	tests := map[string]struct {
		agent agent.Func
		want  *agentv1.ActResponse
		code  codes.Code
		text  string
	}{
		"says":         {agent: returning(agent.Say("hi"), nil), want: &agentv1.ActResponse{Text: "hi"}},
		"says nothing": {agent: returning(agent.Reply{}, nil), want: &agentv1.ActResponse{}},
		"calls": {
			agent: returning(agent.Call("a", struct {
				N int `json:"n"`
			}{3}), nil),
			want: &agentv1.ActResponse{Calls: []*agentv1.ToolCall{{Name: "a", ArgumentsJson: `{"n":3}`}}},
		},
		"calls without arguments": {
			agent: returning(agent.Call("a", nil), nil),
			want:  &agentv1.ActResponse{Calls: []*agentv1.ToolCall{{Name: "a", ArgumentsJson: "{}"}}},
		},
		"calls several": {
			agent: returning(agent.Calls(one, agent.ToolCall{Name: "b"}), nil),
			want:  &agentv1.ActResponse{Calls: []*agentv1.ToolCall{{Id: "x", Name: "a", ArgumentsJson: `{"on":true}`}, {Name: "b", ArgumentsJson: "{}"}}},
		},
		"calls with blank arguments": {
			agent: returning(agent.Calls(agent.ToolCall{Name: "b", Arguments: []byte(" \n")}), nil),
			want:  &agentv1.ActResponse{Calls: []*agentv1.ToolCall{{Name: "b", ArgumentsJson: "{}"}}},
		},
		"calls with a nil map": {
			agent: returning(agent.Call("a", map[string]any(nil)), nil),
			want:  &agentv1.ActResponse{Calls: []*agentv1.ToolCall{{Name: "a", ArgumentsJson: "{}"}}},
		},
		"cannot write arguments": {
			agent: returning(agent.Call("a", math.NaN()), nil),
			want:  raised("json.UnsupportedValueError", "arguments of a: json: unsupported value: NaN"),
		},
		"fails":         {agent: returning(agent.Reply{}, errors.New("no model")), want: raised("error", "no model")},
		"asks to retry": {agent: returning(agent.Reply{}, status.Error(codes.Unavailable, "busy")), code: codes.Unavailable, text: "busy"},
		"panics": {
			agent: func(context.Context, *agent.Conversation) (agent.Reply, error) { panic("oops") },
			want:  raised("panic", "oops"),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			conn, _ := serve(t, test.agent)
			got, err := agentv1.NewAgentServiceClient(conn).Act(t.Context(), &agentv1.ActRequest{ConversationId: "1"})
			if status.Code(err) != test.code || status.Convert(err).Message() != test.text {
				t.Fatalf("error: got %v, want %v %q", err, test.code, test.text)
			}
			if diff := cmp.Diff(test.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("Act (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConfidence states a probability, and a number that is none.
func TestConfidence(t *testing.T) {
	for probability, want := range map[float64]*agentv1.ActResponse{
		0.75: {Text: "done", Confidence: proto.Float64(0.75)},
		90:   raised("error", "confidence: 90 given, expected 0 to 1"),
	} {
		conn, _ := serve(t, returning(agent.Say("done").WithConfidence(probability), nil))
		got, err := agentv1.NewAgentServiceClient(conn).Act(t.Context(), &agentv1.ActRequest{ConversationId: "1"})
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || err != nil {
			t.Errorf("Act with %v (-want +got):\n%s%v", probability, diff, err)
		}
	}
}

func raised(exception, text string) *agentv1.ActResponse {
	return &agentv1.ActResponse{Raised: &agentv1.Raised{ExceptionType: exception, Text: text}}
}

func returning(reply agent.Reply, err error) agent.Func {
	return func(context.Context, *agent.Conversation) (agent.Reply, error) { return reply, err }
}

func TestConversation(t *testing.T) {
	var got *agent.Conversation
	conn, _ := serve(t, agent.Func(func(_ context.Context, c *agent.Conversation) (agent.Reply, error) {
		got = c
		return agent.Say("ok"), nil
	}))
	_, err := agentv1.NewAgentServiceClient(conn).Act(t.Context(), &agentv1.ActRequest{
		ConversationId: "id", Turn: 2, Traceparent: "00-a-b-01",
		Messages: []*agentv1.Message{
			{Speaker: agentv1.Speaker_SPEAKER_SYSTEM, Text: "s"},
			{Speaker: agentv1.Speaker_SPEAKER_USER, Text: "u"},
			{Speaker: agentv1.Speaker_SPEAKER_AGENT, Calls: []*agentv1.ToolCall{{Id: "c", Name: "n", ArgumentsJson: "{}"}}},
			{Speaker: agentv1.Speaker_SPEAKER_TOOL, Text: "None", CallId: "c", ToolName: "n", Failed: true},
		},
		Tools: []*agentv1.Tool{{Name: "n", Description: "d", ParametersJson: "{}"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &agent.Conversation{
		ID: "id", Turn: 2, Traceparent: "00-a-b-01",
		Messages: []agent.Message{
			{Speaker: agent.System, Text: "s"},
			{Speaker: agent.User, Text: "u"},
			{Speaker: agent.Assistant, Calls: []agent.ToolCall{{ID: "c", Name: "n", Arguments: []byte("{}")}}},
			{Speaker: agent.ToolResult, Text: "None", CallID: "c", ToolName: "n", Failed: true},
		},
		Tools: []agent.Tool{{Name: "n", Description: "d", Parameters: []byte("{}")}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Conversation (-want +got):\n%s", diff)
	}
	if last := got.Last(); last.CallID != "c" {
		t.Errorf("Last: got %v, want the answer to c", last)
	}
	if tool, ok := got.Tool("n"); !ok || tool.Description != "d" {
		t.Errorf("Tool(n): got %v, %v, want it", tool, ok)
	}
	if _, ok := got.Tool("m"); ok {
		t.Error("Tool(m): got one, want none")
	}
	if last := new(agent.Conversation).Last(); last.Speaker != "" {
		t.Errorf("Last of nothing: got %v, want an empty message", last)
	}
}

// TestStopIsGraceful stops the agent while a turn is under way; the turn still ends well.
func TestStopIsGraceful(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	conn, stop := serve(t, agent.Func(func(context.Context, *agent.Conversation) (agent.Reply, error) {
		close(entered)
		<-leave
		return agent.Say("bye"), nil
	}))
	health, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("health: got %v, %v, want SERVING", health, err)
	}
	answered := make(chan string, 1)
	go func() {
		answer, err := agentv1.NewAgentServiceClient(conn).Act(context.Background(), &agentv1.ActRequest{ConversationId: "1"})
		if err != nil {
			answered <- err.Error()
			return
		}
		answered <- answer.GetText()
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	close(leave)
	if got := <-answered; got != "bye" {
		t.Errorf("turn under way: got %q, want %q", got, "bye")
	}
	if err := <-stopped; err != nil {
		t.Errorf("stop: got %v, want no error", err)
	}
}

// TestServePrintsAgent checks that serving and attaching print the value of --agent.
func TestServePrintsAgent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func(old *os.File) { os.Stderr = old }(os.Stderr)
	os.Stderr = write
	ended := make(chan error, 3)
	says := agent.Func(func(context.Context, *agent.Conversation) (agent.Reply, error) { return agent.Say("hello"), nil })
	lines := bufio.NewReader(read)
	for _, test := range []struct {
		serve func() error
		want  string
	}{
		{func() error { return agent.Serve(ctx, "localhost:0", says) }, `^agent serves: toolsandbox run --agent grpc://localhost:[1-9][0-9]*\n$`},
		{func() error { return agent.Serve(ctx, ":0", says) }, `^agent serves: toolsandbox run --agent grpc://localhost:[1-9][0-9]*\n$`},
		{func() error { return agent.Attach(ctx, "localhost:1", "mine", says) }, `^agent attaches to localhost:1: toolsandbox run --agent attached:mine\n$`},
	} {
		go func() { ended <- test.serve() }()
		if line, err := lines.ReadString('\n'); err != nil || !regexp.MustCompile(test.want).MatchString(line) {
			t.Errorf("got %q and %v, want %s", line, err, test.want)
		}
	}
	cancel()
	for range 3 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestServeRefusesAddress(t *testing.T) {
	if err := agent.Serve(t.Context(), "localhost:none", returning(agent.Reply{}, nil)); err == nil {
		t.Error("got no error, want one")
	}
}
