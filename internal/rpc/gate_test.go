package rpc_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// TestRolesOfCallers calls methods over mutual TLS as each role: the certificate's identity decides,
// not its signature alone.
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
		"evaluator": codes.PermissionDenied, "attached-agent": codes.PermissionDenied, "nobody": codes.PermissionDenied,
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
			if _, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}); err != nil {
				t.Errorf("health as %s: got %v, want nil", name, err)
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
