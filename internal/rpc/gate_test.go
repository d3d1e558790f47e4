package rpc_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/access"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// TestRolesOfCallers calls methods over mutual TLS as each role: the certificate's identity
// decides, not its signature alone.
func TestRolesOfCallers(t *testing.T) {
	ours := newAuthority(t)
	cert, key := ours.peer(t, "orchestrator")
	cfg := rpc.DefaultConfig()
	cfg.Service, cfg.NATSURL, cfg.Orchestrators = rpc.Orchestrator, startNATS(t), []string{porttest.Address(t)}
	cfg.TLSCert, cfg.TLSKey, cfg.TLSCA = cert, key, ours.file
	m, err := rpc.Connect(t.Context(), cfg, options())
	link{server: closed(t, m, err)}.serve(t, &orchestrator{trajectory: echo})
	waitForPort(t, cfg.Orchestrators[0])
	for name, want := range map[string]codes.Code{
		"client": codes.OK, "client/red/ann": codes.OK, "admin": codes.OK,
		"orchestrator": codes.PermissionDenied, "toolhost": codes.PermissionDenied, "agentgw": codes.PermissionDenied,
		"evaluator": codes.PermissionDenied, "nobody": codes.PermissionDenied,
	} {
		t.Run(name, func(t *testing.T) {
			client := cfg
			client.Remote = true
			client.TLSCert, client.TLSKey = ours.peer(t, name)
			m, err := rpc.Open(t.Context(), client, "", options())
			conn := closed(t, m, err).Conn(rpc.Orchestrator)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, unary := orchestratorv1.NewOrchestratorServiceClient(conn).GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"})
			stream, err := orchestratorv1.NewOrchestratorServiceClient(conn).GetRecording(ctx, &orchestratorv1.GetRecordingRequest{RolloutId: "s.0"})
			if err == nil {
				_, err = stream.Recv()
			}
			for call, err := range map[string]error{"GetTrajectory": unary, "GetRecording": err} {
				if status.Code(err) != want {
					t.Errorf("%s as %s: got %v, want %v", call, name, err, want)
				}
				if want != codes.OK && (!strings.Contains(err.Error(), call) || !strings.Contains(err.Error(), "client or admin")) {
					t.Errorf("%s as %s: got %v, want an error with the method and the roles client or admin", call, name, err)
				}
			}
		})
	}
}

// TestWithoutTLSAllPeersAreTrusted calls a method of the tool host as nobody in particular.
func TestWithoutTLSAllPeersAreTrusted(t *testing.T) {
	cfg := rpc.DefaultConfig()
	cfg.Service, cfg.NATSURL, cfg.ToolHosts = rpc.ToolHost, startNATS(t), []string{porttest.Address(t)}
	m, err := rpc.Connect(t.Context(), cfg, options())
	server := closed(t, m, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(ctx, rpc.ToolHost, func(r grpc.ServiceRegistrar) {
			toolhostv1.RegisterToolHostServiceServer(r, toolhostv1.UnimplementedToolHostServiceServer{})
		})
	}()
	_, err = toolhostv1.NewToolHostServiceClient(server.ToolHost("s.0")).DeleteSession(within(t), &toolhostv1.DeleteSessionRequest{SessionId: "s.0"})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("DeleteSession: got %v, want %v from the handler", err, codes.Unimplemented)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestTokensOfClients shows tokens to a service with teams: over TLS without a certificate, with a
// certificate of a client, and beside one of a service.
func TestTokensOfClients(t *testing.T) {
	ours := newAuthority(t)
	cert, key := ours.peer(t, "orchestrator")
	cfg := rpc.DefaultConfig()
	cfg.Service, cfg.NATSURL, cfg.Orchestrators = rpc.Orchestrator, startNATS(t), []string{porttest.Address(t)}
	cfg.TLSCert, cfg.TLSKey, cfg.TLSCA, cfg.AccessFile = cert, key, ours.file, filepath.Join(t.TempDir(), "access.yaml")
	text := fmt.Sprintf("tokens: [{sha256: %x, name: ann, team: red}]\nteams: {red: {}}\n", sha256.Sum256([]byte("secret-of-red")))
	if err := os.WriteFile(cfg.AccessFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := rpc.Connect(t.Context(), cfg, options())
	link{server: closed(t, m, err)}.serve(t, &orchestrator{trajectory: func(ctx context.Context, _ string) (*orchestratorv1.GetTrajectoryResponse, error) {
		p := access.FromContext(ctx)
		return named(p.Team + "/" + p.Name), nil
	}})
	waitForPort(t, cfg.Orchestrators[0])
	for _, test := range []struct {
		certificate, token string
		want               string // team and name, or else
		code               codes.Code
	}{
		{"", "secret-of-red", "red/ann", codes.OK},
		{"client", "secret-of-red", "red/ann", codes.OK},
		{"client/red/bob", "", "red/bob", codes.OK},
		{"client/red", "", "red/", codes.OK},
		{"", "", "", codes.Unauthenticated},
		{"", "secret-of-blue", "", codes.Unauthenticated},
		{"client", "", "", codes.Unauthenticated},
		{"client/blue/eve", "", "", codes.Unauthenticated},
		{"client/red/bob", "wrong", "", codes.Unauthenticated},
		{"toolhost", "secret-of-red", "", codes.PermissionDenied},
		{"nobody", "secret-of-red", "", codes.PermissionDenied},
	} {
		t.Run(test.certificate+" with "+test.token, func(t *testing.T) {
			client := cfg
			client.Remote, client.TLSCert, client.TLSKey = true, "", ""
			if test.certificate != "" {
				client.TLSCert, client.TLSKey = ours.peer(t, test.certificate)
			}
			t.Setenv(rpc.TokenVariable, test.token)
			m, err := rpc.Open(t.Context(), client, "", options())
			got, err := orchestratorv1.NewOrchestratorServiceClient(closed(t, m, err).Conn(rpc.Orchestrator)).
				GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"})
			if status.Code(err) != test.code || got.GetRollout().GetId() != test.want {
				t.Errorf("call: got %v, %v, want %q, %v", got, err, test.want, test.code)
			}
			if err != nil && test.token != "" && strings.Contains(err.Error(), test.token) {
				t.Errorf("the error repeats the token: %v", err)
			}
		})
	}
}

// TestTokensTravelEncrypted checks that a client sends no token over a network in plain text.
func TestTokensTravelEncrypted(t *testing.T) {
	cfg := rpc.DefaultConfig()
	cfg.Remote, cfg.TokenFile = true, filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(cfg.TokenFile, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{"127.0.0.1:7401": true, "localhost:7401": true, "[::1]:7401": true, "orchestrator:7401": false, "10.0.0.1:7401": false} {
		cfg.Orchestrators = []string{address}
		if err := cfg.Validate(); (err == nil) != want {
			t.Errorf("Validate with a token to %s: got %v, want allowed %t", address, err, want)
		}
	}
}

// TestOpenServicesWarn starts services beyond this machine with and without certificates.
func TestOpenServicesWarn(t *testing.T) {
	ours := newAuthority(t)
	cert, key := ours.peer(t, "orchestrator")
	nats := startNATS(t)
	for _, test := range []struct {
		listen, ca string
		want       int
	}{{"0.0.0.0:0", "", 1}, {"127.0.0.1:0", "", 0}, {"0.0.0.0:0", ours.file, 0}} {
		cfg := rpc.DefaultConfig()
		cfg.Service, cfg.NATSURL, cfg.Listen = rpc.Orchestrator, nats, test.listen
		if cfg.TLSCA = test.ca; test.ca != "" {
			cfg.TLSCert, cfg.TLSKey = cert, key
		}
		var log bytes.Buffer
		m, err := rpc.Connect(t.Context(), cfg, rpc.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		stop := link{server: closed(t, m, err)}.serve(t, &orchestrator{trajectory: echo})
		stop()
		if got := strings.Count(log.String(), "whoever reaches this address"); got != test.want {
			t.Errorf("warnings of %s with authority %q: got %d, want %d in\n%s", test.listen, test.ca, got, test.want, log.String())
		}
	}
}

// TestForwardedTokens checks what a client needs that forwards the tokens of its users.
func TestForwardedTokens(t *testing.T) {
	for name, test := range map[string]struct {
		own  string
		set  func(*rpc.Config)
		want string
	}{
		"this machine":  {"", func(*rpc.Config) {}, ""},
		"a network":     {"", func(c *rpc.Config) { c.Orchestrators = []string{"cluster:7401"} }, "the tokens of users would travel in plain text to cluster:7401"},
		"encrypted":     {"", func(c *rpc.Config) { c.Orchestrators, c.TLSCA = []string{"cluster:7401"}, "ca.crt" }, ""},
		"its own token": {"secret", func(*rpc.Config) {}, "a token of one's own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(rpc.TokenVariable, test.own)
			cfg := rpc.DefaultConfig()
			cfg.Remote = true
			test.set(&cfg)
			err := cfg.CheckForwarding()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
