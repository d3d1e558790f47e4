package agentgw_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/services/agentgw"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// TestRun serves the gateway on an in-process node and stops it.
func TestRun(t *testing.T) {
	m, err := rpc.Open(t.Context(), rpc.DefaultConfig(), t.TempDir(), rpc.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Errorf("close node: %v", err)
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- agentgw.Run(ctx, agentgw.DefaultConfig(), m, m.Bus().AgentGateway()) }()
	client := agentgwv1.NewAgentGatewayServiceClient(m.Conn(rpc.AgentGateway))
	callCtx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	address, _ := servePlugin(t, answering(&agentv1.ActResponse{Text: "ok"}))
	if _, err := client.Respond(callCtx, ask(plugin(address, 0))); err != nil {
		t.Errorf("Respond: %v", err)
	}
	if _, err := client.Respond(callCtx, &agentgwv1.RespondRequest{}); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "rollout_id") {
		t.Errorf("empty request: got %v, want InvalidArgument that names rollout_id", err)
	}
	cancel()
	if err := <-ran; err != nil {
		t.Errorf("Run: got %v, want no error", err)
	}
	if err := agentgw.Run(t.Context(), agentgw.Config{}, m, m.Bus().AgentGateway()); err == nil {
		t.Error("Run without bounds: got no error, want one")
	}
}
