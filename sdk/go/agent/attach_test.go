package agent_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// gateway ends its first stream before it was answered and asks the same again on the second.
type gateway struct {
	agentv1.UnimplementedAttachServiceServer
	mu    sync.Mutex
	names []string
	// instances and tokens are what each stream began with.
	instances []string
	tokens    [][]string
	answers   map[int64]string
	done      chan struct{}
}

func (g *gateway) Attach(stream agentv1.AttachService_AttachServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.names, g.instances = append(g.names, first.GetName()), append(g.instances, first.GetInstance())
	g.tokens = append(g.tokens, metadata.ValueFromIncomingContext(stream.Context(), "authorization"))
	streams := len(g.names)
	g.mu.Unlock()
	if first.GetName() == "taken" {
		return status.Error(codes.AlreadyExists, "the name is taken")
	}
	if first.GetName() == "secret" {
		return status.Error(codes.PermissionDenied, "the name has a secret")
	}
	for i, text := range []string{"a", "b", "fail"} {
		request := &agentv1.ActRequest{ConversationId: text, Messages: []*agentv1.Message{{Speaker: agentv1.Speaker_SPEAKER_USER, Text: text}}}
		if err := stream.Send(&agentv1.AttachResponse{RequestId: int64(i), Request: request}); err != nil {
			return err
		}
	}
	if streams == 1 {
		return status.Error(codes.Unavailable, "restarting")
	}
	for range 3 {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		answer := message.GetAnswer()
		g.answers[answer.GetRequestId()] = answer.GetResponse().GetText() + answer.GetResponse().GetRaised().GetText()
	}
	close(g.done)
	<-stream.Context().Done()
	return nil
}

func serveGateway(t *testing.T) (g *gateway, dialer grpc.DialOption) {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	g = &gateway{answers: make(map[int64]string), done: make(chan struct{})}
	srv := grpc.NewServer(grpc.WaitForHandlers(true))
	agentv1.RegisterAttachServiceServer(srv, g)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return g, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) })
}

func echo(_ context.Context, c *agent.Conversation) (agent.Reply, error) {
	if c.Last().Text == "fail" {
		return agent.Reply{}, errors.New("no model")
	}
	return agent.Say("said " + c.Last().Text), nil
}

func TestAttachOpensLostStreamAgain(t *testing.T) {
	g, dialer := serveGateway(t)
	ctx, cancel := context.WithCancel(t.Context())
	attached := make(chan error, 1)
	go func() {
		attached <- agent.Attach(ctx, "passthrough:///gateway", "mine", agent.Func(echo), dialer, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}()
	<-g.done
	cancel()
	if err := <-attached; err != nil {
		t.Errorf("Attach: got %v, want nil after its context was done", err)
	}
	if diff := cmp.Diff([]string{"mine", "mine"}, g.names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if len(g.instances) != 2 || g.instances[0] == "" || g.instances[0] != g.instances[1] {
		t.Errorf("instances: got %q, want one twice", g.instances)
	}
	if diff := cmp.Diff(map[int64]string{0: "said a", 1: "said b", 2: "no model"}, g.answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestAttachRefused(t *testing.T) {
	_, dialer := serveGateway(t)
	err := agent.Attach(t.Context(), "passthrough:///gateway", "taken", agent.Func(echo), dialer, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if status.Code(err) != codes.AlreadyExists {
		t.Errorf("Attach: got %v, want ALREADY_EXISTS", err)
	}
}

// TestAttachNowhere names gateways that no try can reach: the error comes at once.
func TestAttachNowhere(t *testing.T) {
	for _, gateway := range []string{
		"", "localhost", "localhost:", "localhost:9500x", "localhost:0", "localhost:65536", "::1:9000", "http://localhost:9000", "grpc://localhost:9000/x",
		"grpcs://localhost", "local host:9000",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := agent.Attach(ctx, gateway, "mine", agent.Func(echo))
		cancel()
		if err == nil || !strings.Contains(err.Error(), "attach mine: gateway ") {
			t.Errorf("Attach to %q: got %v, want an error that names the gateway", gateway, err)
		}
	}
}

func TestAttachSomewhere(t *testing.T) {
	for _, gateway := range []string{"localhost:1", ":1", "[::1]:1", "127.0.0.1:http", "grpc://localhost:1", "grpcs://localhost:1", "dns:///localhost:1"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		err := agent.Attach(ctx, gateway, "mine", agent.Func(echo))
		cancel()
		if err != nil {
			t.Errorf("Attach to %q: got %v, want none before its context is done", gateway, err)
		}
	}
}
