package agentgw_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/services/agentgw"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// startChecker runs a gateway on an in-process node and returns a client of its checks.
func startChecker(t *testing.T, cfg agentgw.Config) agentgwv1.PlayerCheckServiceClient {
	t.Helper()
	m, err := rpc.Open(t.Context(), rpc.DefaultConfig(), t.TempDir(), rpc.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- agentgw.Run(ctx, cfg, m, m.Bus().AgentGateway()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return agentgwv1.NewPlayerCheckServiceClient(m.Conn(rpc.AgentGateway))
}

// checkPlayer checks a player and returns the state without its prefix.
func checkPlayer(t *testing.T, client agentgwv1.PlayerCheckServiceClient, p *agentgwv1.Player) (state, detail string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answer, err := client.CheckPlayer(ctx, &agentgwv1.CheckPlayerRequest{Player: p})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(answer.GetState().String(), "STATE_"), answer.GetDetail()
}

// serveHealth serves a plug-in with a health service on a port of its own.
func serveHealth(t *testing.T, healthy healthv1.HealthServer) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.WaitForHandlers(true))
	healthv1.RegisterHealthServer(srv, healthy)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// busyHealth is a health service that does not answer in time.
type busyHealth struct {
	healthv1.UnimplementedHealthServer
}

func (busyHealth) Check(ctx context.Context, _ *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestCheckPlayer checks players of each kind, at plug-ins with and without health and at a web
// server.
func TestCheckPlayer(t *testing.T) {
	t.Parallel()
	bare, _ := servePlugin(t, answering(&agentv1.ActResponse{Text: "hello"}))
	leaving := health.NewServer()
	leaving.Shutdown()
	asked := 0
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	t.Cleanup(web.Close)
	cfg := withKeys(map[string]string{"ANTHROPIC_API_KEY": " \n", "COHERE_API_KEY": "a\nb", "VERTEX_BASE_URL": web.URL})
	cfg.ModelBaseURLs = []string{web.URL}
	client := startChecker(t, cfg)
	for text, test := range map[string]struct{ base, state, detail string }{
		"oracle":             {"", "READY", ""},
		"random":             {"", "READY", ""},
		"unhelpful":          {"", "READY", ""},
		"openai:m":           {web.URL, "READY", ""},
		"vertex:m":           {"", "READY", ""},
		"google:m":           {"http://127.0.0.1:1", "UNUSABLE", `base URL "http://127.0.0.1:1" is not among those that this gateway allows`},
		"anthropic:m":        {"", "UNUSABLE", "no key: set ANTHROPIC_API_KEY or ANTHROPIC_API_KEY_FILE"},
		"cohere:m":           {"", "UNUSABLE", "the key in COHERE_API_KEY has U+000A as its character"},
		"grpc://" + bare:     {"", "READY", ""},
		"attached:nobody":    {"", "AWAITED", "no agent is attached yet as nobody: the rollouts wait until one is"},
		"grpc://localhost:1": {"", "UNREACHABLE", "start it or correct its address"},
		"grpc://" + serveHealth(t, health.NewServer()):     {"", "READY", ""},
		"grpc://" + serveHealth(t, busyHealth{}):           {"", "READY", ""},
		"grpc://" + serveHealth(t, leaving):                {"", "UNREACHABLE", "it says that it does not serve now"},
		"grpc://" + strings.TrimPrefix(web.URL, "http://"): {"", "UNREACHABLE", "what answers there is no gRPC server"},
	} {
		p := play(t, text)
		if test.base != "" {
			if err := player.SetBaseURL(p, test.base); err != nil {
				t.Fatal(err)
			}
		}
		state, detail := checkPlayer(t, client, p)
		if state != test.state || !strings.Contains(detail, test.detail) || (state == "READY") != (detail == "") {
			t.Errorf("%s: got %s, %q, want %s, %q", text, state, detail, test.state, test.detail)
		}
	}
	if asked != 1 { // for its health: it was taken for a plug-in
		t.Errorf("requests to the web server: got %d, want 1", asked)
	}
}

// TestCheckAttached attaches an agent. It is ready from then on, also at the other replicas, and
// the check asks it for no turn.
func TestCheckAttached(t *testing.T) {
	t.Parallel()
	address, release, err := porttest.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	cfg := withKeys(nil)
	cfg.AttachListen = address
	client := startChecker(t, cfg)
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	stream, err := agentv1.NewAttachServiceClient(conn).Attach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Name{Name: "mine"}}); err != nil {
		t.Fatal(err)
	}
	for state := ""; state != "READY"; {
		if state, _ = checkPlayer(t, client, play(t, "attached:mine")); state != "READY" && state != "AWAITED" {
			t.Fatalf("got %s, want READY in the end", state)
		}
	}
	large := metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("x", rpc.MaxHeaderBytes))
	if _, err := agentv1.NewAttachServiceClient(conn).Attach(large); status.Code(err) != codes.Internal {
		t.Errorf("large headers: got %v, want %v", err, codes.Internal)
	}
	secured := play(t, "attached:mine")
	if err := player.SetSecret(secured, "a-token-of-some-length"); err != nil {
		t.Fatal(err)
	}
	if state, detail := checkPlayer(t, client, secured); state != "AWAITED" || detail != "no agent is attached yet as mine with the token of this run: the rollouts wait until one is" {
		t.Errorf("with a secret: got %s, %q, want AWAITED", state, detail)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if turn, err := stream.Recv(); err == nil {
		t.Errorf("the agent got %v, want to be asked for nothing", turn)
	}
}

// TestCheckHeldName checks a player without a secret whose name an agent holds with one.
func TestCheckHeldName(t *testing.T) {
	t.Parallel()
	cfg := withKeys(nil)
	cfg.AttachListen = porttest.Address(t)
	client := startChecker(t, cfg)
	conn, err := grpc.NewClient(cfg.AttachListen, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	stream, err := agentv1.NewAttachServiceClient(conn).Attach(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer a-token-of-some-length"))
	if err == nil {
		err = stream.Send(&agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Name{Name: "mine"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	secured := play(t, "attached:mine")
	if err := player.SetSecret(secured, "a-token-of-some-length"); err != nil {
		t.Fatal(err)
	}
	for state := ""; state != "READY"; {
		if state, _ = checkPlayer(t, client, secured); state != "READY" && state != "AWAITED" {
			t.Fatalf("got %s, want READY in the end", state)
		}
	}
	const want = "an agent with a secret is attached as mine, but this run has none: give it the agent's token, in TOOLSANDBOX_ATTACH_TOKEN or the file of --attach-token-file, or choose another name"
	if state, detail := checkPlayer(t, client, play(t, "attached:mine")); state != "UNUSABLE" || detail != want {
		t.Errorf("without the secret: got %s, %q, want UNUSABLE, %q", state, detail, want)
	}
}

// TestProbePlayer probes a model at a server, one without a key, and a player that is no model.
func TestProbePlayer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"jot_down_words","arguments":"{}"}}]}}]}`)
	}))
	defer server.Close()
	cfg := agentgw.DefaultConfig()
	cfg.Getenv = func(string) string { return "" }
	cfg.ModelBaseURLs = []string{"*"} // the test's own
	client := startChecker(t, cfg)
	for _, test := range []struct {
		player, base string
		tools        agentgwv1.ProbePlayerResponse_Tools
		problem      string
	}{
		{"openai:m", server.URL, agentgwv1.ProbePlayerResponse_TOOLS_REACH, ""},
		{"openai:m", "", agentgwv1.ProbePlayerResponse_TOOLS_UNSPECIFIED, "no key: set OPENAI_API_KEY or OPENAI_API_KEY_FILE"},
	} {
		p, err := player.Parse(worldv1.Role_ROLE_AGENT, test.player)
		if err == nil && test.base != "" {
			err = player.SetBaseURL(p, test.base)
		}
		if err != nil {
			t.Fatal(err)
		}
		found, err := client.ProbePlayer(t.Context(), &agentgwv1.ProbePlayerRequest{Player: p})
		if err != nil || found.GetTools() != test.tools || found.GetProblem() != test.problem {
			t.Errorf("%s at %q: got %v and %v, want %s and %q", test.player, test.base, found, err, test.tools, test.problem)
		}
	}
	p, err := player.Parse(worldv1.Role_ROLE_AGENT, "oracle")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.ProbePlayer(t.Context(), &agentgwv1.ProbePlayerRequest{Player: p}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("oracle: got %v, want INVALID_ARGUMENT", err)
	}
}
