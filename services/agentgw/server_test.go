package agentgw_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/original/row"
	"github.com/toolsandbox/toolsandbox/original/row/rowtest"
	"github.com/toolsandbox/toolsandbox/services/agentgw"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	agent       = worldv1.Role_ROLE_AGENT
	user        = worldv1.Role_ROLE_USER
	system      = worldv1.Role_ROLE_SYSTEM
	environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a gateway over bufconn and returns its client.
func serve(tb testing.TB, cfg agentgw.Config, record *bus.Bus) agentgwv1.AgentGatewayServiceClient {
	tb.Helper()
	cfg.RetryWait = 5 * time.Millisecond
	server, err := agentgw.NewServer(cfg, record, nil) // nobody attaches here
	if err != nil {
		tb.Fatal(err)
	}
	listener := bufconn.Listen(1 << 20)
	srv := grpc.NewServer(grpc.WaitForHandlers(true))
	agentgwv1.RegisterAgentGatewayServiceServer(srv, server)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///gateway", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = conn.Close()
		srv.Stop()
		if err := <-served; err != nil {
			tb.Errorf("serve: %v", err)
		}
		if err := server.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return agentgwv1.NewAgentGatewayServiceClient(conn)
}

// play parses a player.
func play(tb testing.TB, role worldv1.Role, text string) *agentgwv1.Player {
	tb.Helper()
	p, err := player.Parse(role, text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func message(index int32, from, to worldv1.Role, content string) *worldv1.Message {
	m := rowtest.Message(from, to, content)
	m.Index = index
	return m
}

func call(index int32, from worldv1.Role, content, id, name string) *worldv1.Message {
	m := rowtest.Read(from, environment, row.Row{Content: &content, ToolCallID: &id, FunctionName: &name})
	m.Index, m.VisibleTo = index, []worldv1.Role{from, environment}
	return m
}

// say returns the third message of a conversation.
func say(from, to worldv1.Role, content string) *worldv1.Message {
	m := message(2, from, to, content)
	m.VisibleTo = []worldv1.Role{from, to}
	return m
}

func wifiView() []*worldv1.Message {
	return []*worldv1.Message{
		message(0, system, agent, "Do not assume anything."),
		message(1, user, agent, "Turn off wifi and text Fredrik at +12453344098, it is 20.5 degrees"),
	}
}

// scrambled returns two tools under scrambled names.
func scrambled() []*worldv1.Tool {
	return []*worldv1.Tool{
		{Name: "setting_9", ExecutionName: "set_wifi_status", Description: "Turns wifi on or off.",
			ParametersJson: `{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}`},
		{Name: "contact_3", ExecutionName: "search_contacts",
			ParametersJson: `{"type":"object","properties":{"name":{"type":"string"},"latitude":{"type":"number"},"days":{"type":"integer"},"x":{}},"required":["name","hidden"]}`},
	}
}

func wifiOff() *worldv1.ScriptTurn {
	return &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{{Id: proto.String("call_1"), Tool: "set_wifi_status", ArgumentsJson: `{"on": false}`}}}
}

const wifiOffSource = "call_1_parameters = {'on': False}\ncall_1_response = set_wifi_status(**call_1_parameters)\nprint(repr(call_1_response))"

// scriptedTest is one turn of a computed player.
type scriptedTest struct {
	req  *agentgwv1.RespondRequest
	want *agentgwv1.RespondResponse
}

func TestRespondOracle(t *testing.T) {
	unlisted := &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{wifiOff().GetCalls()[0], {Id: proto.String("call_2"), Tool: "get_cellular_service_status", ArgumentsJson: "{}"}}}
	unlistedSource := "call_2_parameters = {}\ncall_2_response = get_cellular_service_status(**call_2_parameters)\nprint(repr(call_2_response))"
	runScripted(t, map[string]scriptedTest{
		"oracle says": {
			&agentgwv1.RespondRequest{Role: agent, Player: play(t, agent, "oracle"), Scripted: &worldv1.ScriptTurn{Say: "Done."}},
			&agentgwv1.RespondResponse{Messages: []*worldv1.Message{say(agent, user, "Done.")}},
		},
		"oracle calls by the agent's name": {
			&agentgwv1.RespondRequest{Role: agent, Player: play(t, agent, "oracle"), Scripted: wifiOff(), Tools: scrambled()},
			&agentgwv1.RespondResponse{Messages: []*worldv1.Message{call(2, agent, wifiOffSource, "call_1", "setting_9")}},
		},
		"oracle without tools": {
			&agentgwv1.RespondRequest{Role: agent, Player: play(t, agent, "oracle"), Scripted: wifiOff()},
			&agentgwv1.RespondResponse{Messages: []*worldv1.Message{call(2, agent, wifiOffSource, "call_1", "set_wifi_status")}},
		},
		"oracle ends": {
			&agentgwv1.RespondRequest{Role: agent, Player: play(t, agent, "oracle")},
			&agentgwv1.RespondResponse{Messages: []*worldv1.Message{say(agent, user, "I have nothing to add.")}},
		},
		"unlisted tool goes out": {
			&agentgwv1.RespondRequest{Role: agent, Player: play(t, agent, "oracle"), Scripted: unlisted, Tools: scrambled()},
			&agentgwv1.RespondResponse{Messages: []*worldv1.Message{
				call(2, agent, wifiOffSource, "call_1", "setting_9"),
				call(3, agent, unlistedSource, "call_2", "get_cellular_service_status"),
			}},
		},
		"unlisted tool fails in compatible mode": {
			&agentgwv1.RespondRequest{Role: agent, Player: play(t, agent, "oracle"), Scripted: unlisted, Tools: scrambled(), Compat: true},
			&agentgwv1.RespondResponse{Failure: &agentgwv1.Failure{
				Class: agentgwv1.FailureClass_FAILURE_CLASS_MODEL, ExceptionType: "KeyError",
				Detail: `tool "get_cellular_service_status" is not among the role's tools: setting_9, contact_3`,
			}},
		},
	})
}

func TestRespondScripted(t *testing.T) {
	runScripted(t, map[string]scriptedTest{
		"user says": {
			&agentgwv1.RespondRequest{Role: user, Player: play(t, user, "scripted"), Scripted: &worldv1.ScriptTurn{Say: "ok"}},
			&agentgwv1.RespondResponse{Messages: []*worldv1.Message{say(user, agent, "ok")}},
		},
		"user ends": {
			&agentgwv1.RespondRequest{Role: user, Player: play(t, user, "scripted"), Compat: true},
			&agentgwv1.RespondResponse{Messages: []*worldv1.Message{call(2, user,
				"call_end_parameters = {}\ncall_end_response = end_conversation(**call_end_parameters)\nprint(repr(call_end_response))",
				"call_end", "end_conversation")}},
		},
		"inline turn": {
			&agentgwv1.RespondRequest{Role: user, Turn: 1, Player: inline(&worldv1.ScriptTurn{Say: "a"}, &worldv1.ScriptTurn{Say: "b"})},
			&agentgwv1.RespondResponse{Messages: []*worldv1.Message{say(user, agent, "b")}},
		},
		"inline ends": {
			&agentgwv1.RespondRequest{Role: agent, Turn: 2, Player: inline(&worldv1.ScriptTurn{Say: "a"}, &worldv1.ScriptTurn{Say: "b"})},
			&agentgwv1.RespondResponse{Messages: []*worldv1.Message{say(agent, user, "I have nothing to add.")}},
		},
		"unhelpful": {
			&agentgwv1.RespondRequest{Role: agent, Player: play(t, agent, "unhelpful")},
			&agentgwv1.RespondResponse{Messages: []*worldv1.Message{say(agent, user, "Sorry, this is something I am unable to do for you.")}},
		},
	})
}

func runScripted(t *testing.T, tests map[string]scriptedTest) {
	t.Helper()
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.req.RolloutId, test.req.Index, test.req.View = "sweep.0", 2, wifiView()
			got, err := client.Respond(t.Context(), test.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("Respond (-want +got):\n%s", diff)
			}
		})
	}
}

func inline(turns ...*worldv1.ScriptTurn) *agentgwv1.Player {
	return &agentgwv1.Player{Name: "inline", Kind: &agentgwv1.Player_Scripted{
		Scripted: &agentgwv1.Scripted{Source: agentgwv1.Scripted_SOURCE_INLINE, Turns: turns},
	}}
}

func TestRespondErrors(t *testing.T) {
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	tests := map[string]struct {
		req  *agentgwv1.RespondRequest
		want codes.Code
	}{
		"unhelpful user": {&agentgwv1.RespondRequest{Role: user, Player: play(t, agent, "unhelpful")}, codes.InvalidArgument},
		"random user":    {&agentgwv1.RespondRequest{Role: user, Player: play(t, agent, "random")}, codes.InvalidArgument},
		"gorilla user":   {&agentgwv1.RespondRequest{Role: user, Player: play(t, agent, "gorilla")}, codes.InvalidArgument},
		"no kind":        {&agentgwv1.RespondRequest{Role: agent, Player: &agentgwv1.Player{Name: "x"}}, codes.InvalidArgument},
		"address":        {&agentgwv1.RespondRequest{Role: agent, Player: plugin("localhost", 0)}, codes.InvalidArgument},
		"attached agent": {&agentgwv1.RespondRequest{Role: agent, Player: plugin("", 0)}, codes.InvalidArgument},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.req.RolloutId, test.req.View = "sweep.0", wifiView()
			_, err := client.Respond(t.Context(), test.req)
			if got := status.Code(err); got != test.want {
				t.Errorf("code: got %v (%v), want %v", got, err, test.want)
			}
		})
	}
}

// TestView sends a request without a view: only players that ignore it answer.
func TestView(t *testing.T) {
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	for name, test := range map[string]struct {
		player *agentgwv1.Player
		want   codes.Code
	}{
		"scripted":  {play(t, agent, "oracle"), codes.OK},
		"unhelpful": {play(t, agent, "unhelpful"), codes.OK},
		"random":    {play(t, agent, "random"), codes.InvalidArgument},
		"plug-in":   {plugin("localhost:1", 0), codes.InvalidArgument},
		"model":     {play(t, agent, "openai:m"), codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Respond(t.Context(), &agentgwv1.RespondRequest{RolloutId: "sweep.0", Role: agent, Player: test.player, Scripted: wifiOff()})
			if got := status.Code(err); got != test.want {
				t.Errorf("code: got %v (%v), want %v", got, err, test.want)
			}
		})
	}
}

// TestToolSets sends tools by digest, inline, and not at all.
func TestToolSets(t *testing.T) {
	cfg := agentgw.DefaultConfig()
	cfg.ToolSets = 1
	b := natstest.Start(t)
	client := serve(t, cfg, b)
	other := []*worldv1.Tool{{Name: "other", ExecutionName: "other", ParametersJson: "{}"}}
	var digests []string
	for _, tools := range [][]*worldv1.Tool{scrambled(), other} {
		digest, err := b.PutTools(t.Context(), &agentgwv1.ToolSet{Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	for i, step := range []struct {
		digest string
		tools  []*worldv1.Tool
		known  bool // the script's tool is
		code   codes.Code
	}{
		{digests[0], nil, true, codes.OK},
		{digests[0], nil, true, codes.OK},
		{digests[1], nil, false, codes.OK},
		{digests[0], nil, true, codes.OK}, // read again
		{"aa", nil, false, codes.NotFound},
		{"", scrambled(), true, codes.OK},
		{"", other, false, codes.OK},
		{"", nil, true, codes.OK}, // any tool
	} {
		response, err := client.Respond(t.Context(), &agentgwv1.RespondRequest{
			RolloutId: "r", Role: agent, Player: play(t, agent, "oracle"), View: wifiView(), Scripted: wifiOff(),
			ToolSetDigest: step.digest, Tools: step.tools, Compat: true,
		})
		if known := err == nil && response.GetFailure() == nil; status.Code(err) != step.code || known != step.known {
			t.Errorf("step %d: got %v, %v, want %v and that the tool is known: %v", i, response, err, step.code, step.known)
		}
	}
}

func TestRandomIsDeterministic(t *testing.T) {
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	ask := func(rollout string, turn int32, seed int64, name string) []byte {
		t.Helper()
		got, err := client.Respond(t.Context(), &agentgwv1.RespondRequest{
			RolloutId: rollout, Index: 2, Role: agent, Player: play(t, agent, name), View: wifiView(),
			Tools: scrambled(), Turn: turn, Seed: seed,
		})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	different := make(map[string]bool)
	for turn := range int32(5) {
		first := ask("sweep.1", turn, 7, "random:3")
		if again := ask("another.2", turn, 7, "random:3"); string(again) != string(first) {
			t.Errorf("turn %d, another rollout: got %q, want %q", turn, again, first)
		}
		if sum := ask("sweep.1", turn, 0, "random:10"); string(sum) != string(first) {
			t.Errorf("turn %d, same sum of seeds: got %q, want %q", turn, sum, first)
		}
		different[string(first)] = true
		different[string(ask("sweep.1", turn, 8, "random:3"))] = true
	}
	if len(different) < 8 {
		t.Errorf("different answers over 5 turns and 2 seeds: got %d, want at least 8 of 10", len(different))
	}
	want := &agentgwv1.RespondResponse{Messages: []*worldv1.Message{say(agent, user, "That is as far as I got.")}}
	for _, turn := range []int32{5, 6} {
		got := &agentgwv1.RespondResponse{}
		if err := proto.Unmarshal(ask("sweep.1", turn, 7, "random"), got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("turn %d (-want +got):\n%s", turn, diff)
		}
	}
}

func TestConfig(t *testing.T) {
	if err := agentgw.DefaultConfig().Validate(); err != nil {
		t.Errorf("defaults: got %v, want no error", err)
	}
	for name, change := range map[string]func(*agentgw.Config){
		"tool sets":     func(c *agentgw.Config) { c.ToolSets = 0 },
		"connections":   func(c *agentgw.Config) { c.PluginConnections = 0 },
		"message bytes": func(c *agentgw.Config) { c.PluginMessageBytes = 0 },
		"turn bytes":    func(c *agentgw.Config) { c.PluginTurnBytes = 1 << 30 },
	} {
		cfg := agentgw.DefaultConfig()
		change(&cfg)
		if err := cfg.Validate(); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
}

func BenchmarkRespondOracle(b *testing.B) {
	client := serve(b, agentgw.DefaultConfig(), natstest.Start(b))
	req := &agentgwv1.RespondRequest{
		RolloutId: "r", Index: 2, Role: agent, Player: play(b, agent, "oracle"), View: wifiView(), Scripted: wifiOff(),
		Tools: scrambled(),
	}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Respond(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
}
