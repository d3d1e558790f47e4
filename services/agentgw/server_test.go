package agentgw_test

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

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

// play parses a player of the agent.
func play(tb testing.TB, text string) *agentgwv1.Player {
	tb.Helper()
	p, err := player.Parse(agent, text)
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

// say returns the third message of a conversation, from the agent to the user.
func say(content string) *worldv1.Message {
	m := message(2, agent, user, content)
	m.VisibleTo = []worldv1.Role{agent, user}
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

func TestRespondErrors(t *testing.T) {
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	tests := map[string]struct {
		req  *agentgwv1.RespondRequest
		want codes.Code
	}{
		"unhelpful user": {&agentgwv1.RespondRequest{Role: user, Player: play(t, "unhelpful")}, codes.InvalidArgument},
		"random user":    {&agentgwv1.RespondRequest{Role: user, Player: play(t, "random")}, codes.InvalidArgument},
		"gorilla user":   {&agentgwv1.RespondRequest{Role: user, Player: play(t, "gorilla")}, codes.InvalidArgument},
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

// TestView sends a request without a view.
func TestView(t *testing.T) {
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	for name, player := range map[string]*agentgwv1.Player{"plug-in": plugin("localhost:1", 0), "model": play(t, "openai:m")} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Respond(t.Context(), &agentgwv1.RespondRequest{RolloutId: "sweep.0", Role: agent, Player: player})
			if status.Code(err) != codes.InvalidArgument {
				t.Errorf("got %v, want INVALID_ARGUMENT", err)
			}
		})
	}
}

// TestToolSets sends tools by digest, inline, and not at all.
func TestToolSets(t *testing.T) {
	cfg := allKeys()
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
	f := startProvider(t, always(http.StatusOK, `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"setting_9","arguments":"{}"}}]}}]}`))
	for i, step := range []struct {
		digest string
		tools  []*worldv1.Tool
		known  bool // the called tool is
		code   codes.Code
	}{
		{digests[0], nil, true, codes.OK},
		{digests[0], nil, true, codes.OK},
		{digests[1], nil, false, codes.OK},
		{digests[0], nil, true, codes.OK}, // read again
		{"aa", nil, false, codes.NotFound},
		{"", scrambled(), true, codes.OK},
		{"", other, false, codes.OK},
	} {
		request := askModel("openai", f.URL)
		request.RolloutId, request.ToolSetDigest, request.Tools, request.Compat = "r."+strconv.Itoa(i), step.digest, step.tools, true
		response, err := client.Respond(t.Context(), request)
		if known := err == nil && response.GetFailure() == nil; status.Code(err) != step.code || known != step.known {
			t.Errorf("step %d: got %v, %v, want %v and that the tool is known: %v", i, response, err, step.code, step.known)
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
		"no scheme":     func(c *agentgw.Config) { c.ModelBaseURLs = []string{"*", "localhost:8000/v1"} },
	} {
		cfg := agentgw.DefaultConfig()
		change(&cfg)
		if err := cfg.Validate(); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
}
