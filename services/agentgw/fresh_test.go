package agentgw_test

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/sandbox"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/toolsandbox/toolsandbox/internal/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// TestFresh asks for a turn that its caller calls new although it is recorded: the provider is
// asked, but the record counts.
func TestFresh(t *testing.T) {
	b := natstest.Start(t)
	f := startFake(t, func(n int) (int, string) {
		return http.StatusOK, says(openaiModel, []string{"first", "second"}[n-1])
	})
	client := serve(t, allKeys(), b)
	request := askModel(openaiModel, f.URL)
	request.Fresh = true
	for asked := 1; asked <= 2; asked++ {
		response, err := client.Respond(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if got := sandbox.Content(response.GetMessages()[0]); got != "first" {
			t.Errorf("answer %d: got %q, want %q", asked, got, "first")
		}
		if got := f.count(); got != asked {
			t.Errorf("requests: got %d, want %d", got, asked)
		}
	}
}

// TestFreshTriedAgain loses the answer to a new turn on its way, so that gRPC itself repeats the
// call: nothing is paid for twice.
func TestFreshTriedAgain(t *testing.T) {
	b := natstest.Start(t)
	f := startFake(t, always(http.StatusOK, says(openaiModel, "hello")))
	server, err := agentgw.NewServer(allKeys(), b, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	listener := bufconn.Listen(1 << 20)
	var calls atomic.Int32
	srv := grpc.NewServer(grpc.WaitForHandlers(true), grpc.UnaryInterceptor(
		func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			response, err := handle(ctx, req)
			if calls.Add(1) == 1 {
				return nil, status.Error(codes.Unavailable, "lost")
			}
			return response, err
		}))
	agentgwv1.RegisterAgentGatewayServiceServer(srv, server)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///gateway", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 2, "initialBackoff": "0.001s",
			"maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		srv.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := server.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	request := askModel(openaiModel, f.URL)
	request.Fresh = true
	response, err := agentgwv1.NewAgentGatewayServiceClient(conn).Respond(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if got := sandbox.Content(response.GetMessages()[0]); got != "hello" {
		t.Errorf("answer: got %q, want %q", got, "hello")
	}
	if got := calls.Load(); got != 2 {
		t.Errorf("calls: got %d, want 2", got)
	}
	if got := f.count(); got != 1 {
		t.Errorf("requests to the provider: got %d, want 1", got)
	}
}
