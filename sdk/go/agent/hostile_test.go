package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// soon bounds what takes some seconds, for a machine that has much else to do.
const soon = time.Minute

// asker is a gateway that hands its streams to the test.
type asker struct {
	agentv1.UnimplementedAttachServiceServer
	streams chan agentv1.AttachService_AttachServer
	// end ends the stream that is served.
	end chan error
}

func (a *asker) Attach(stream agentv1.AttachService_AttachServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	a.streams <- stream
	select {
	case err := <-a.end:
		return err
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
}

// attach attaches an agent in memory. left returns what Attach returned after its context was done.
func attach(t *testing.T, act agent.Func) (a *asker, left func() error) {
	t.Helper()
	a = &asker{streams: make(chan agentv1.AttachService_AttachServer), end: make(chan error)}
	listener := bufconn.Listen(1 << 16)
	srv := grpc.NewServer()
	agentv1.RegisterAttachServiceServer(srv, a)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	ctx, cancel := context.WithCancel(context.Background())
	attached := make(chan error, 1)
	go func() {
		attached <- agent.Attach(ctx, "passthrough:///gateway", "mine", act,
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	}()
	t.Cleanup(func() {
		cancel()
		srv.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return a, func() error {
		cancel()
		return <-attached
	}
}

// ask asks a turn that says text.
func ask(t *testing.T, stream agentv1.AttachService_AttachServer, id int64, text string, timeout time.Duration) {
	t.Helper()
	request := &agentv1.ActRequest{ConversationId: text, Messages: []*agentv1.Message{{Speaker: agentv1.Speaker_SPEAKER_USER, Text: text}}}
	if err := stream.Send(&agentv1.AttachResponse{RequestId: id, Request: request, TimeoutMs: timeout.Milliseconds()}); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, stream agentv1.AttachService_AttachServer) *agentv1.AttachAnswer {
	t.Helper()
	message, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return message.GetAnswer()
}

// errType is an error of a type of its own.
type errType struct{}

func (errType) Error() string { return "of a type" }

// TestAttachFailuresAreOneTurns answers what cannot be sent, fails and panics: the stream goes on.
func TestAttachFailuresAreOneTurns(t *testing.T) {
	a, left := attach(t, func(_ context.Context, c *agent.Conversation) (agent.Reply, error) {
		switch c.ID {
		case "garbage":
			return agent.Say("\xff"), nil
		case "flood":
			return agent.Say(strings.Repeat("x", 20<<20)), nil
		case "garbage for a reason":
			return agent.Reply{}, errors.New("\xff")
		case "flood of reasons":
			return agent.Reply{}, errors.New(strings.Repeat("x", 20<<20))
		case "panic":
			panic("oops")
		case "no reason":
			return agent.Reply{}, errors.New("")
		case "wrapped":
			return agent.Reply{}, fmt.Errorf("read: %w", errType{})
		case "busy":
			return agent.Reply{}, status.Error(codes.Unavailable, "warming up")
		case "enough":
			return agent.Reply{}, fmt.Errorf("stop: %w", status.Error(codes.Aborted, "\xff"))
		}
		return agent.Say("fine"), nil
	})
	stream := <-a.streams
	for i, test := range []struct {
		asked, text, raised, reason string
		code                        codes.Code
	}{
		{"garbage", "", "error", "UTF-8", 0},
		{"flood", "", "error", "the turn has 20971525 bytes, expected at most 4194304", 0},
		{"garbage for a reason", "", "error", "\uFFFD", 0},
		{"flood of reasons", "", "error", "xxx…", 0},
		{"panic", "", "panic", "oops", 0},
		{"no reason", "", "error", "gives no reason", 0},
		{"wrapped", "", "agent_test.errType", "read: of a type", 0},
		{"busy", "", "", "warming up", codes.Unavailable},
		{"enough", "", "", "stop: rpc error: code = Aborted desc = \uFFFD", codes.Aborted},
		{"well", "fine", "", "", 0},
	} {
		ask(t, stream, int64(i), test.asked, 0)
		got := hear(t, stream)
		reason := got.GetError() + got.GetResponse().GetRaised().GetText()
		if got.GetRequestId() != int64(i) || got.GetResponse().GetText() != test.text || !strings.Contains(reason, test.reason) ||
			(reason == "") != (test.reason == "") || len(reason) > 5000 || codes.Code(got.GetCode()) != test.code ||
			got.GetResponse().GetRaised().GetExceptionType() != test.raised {
			t.Errorf("%s: got %.100v, want %q, %q with reason %q, code %s", test.asked, got, test.text, test.raised, test.reason, test.code)
		}
	}
	if err := left(); err != nil {
		t.Errorf("Attach: got %v, want nil", err)
	}
}

// TestAttachWithHungTurns has a turn that does not heed its context: it holds up neither the next
// stream nor, for long, the end.
func TestAttachWithHungTurns(t *testing.T) {
	t.Parallel()
	hung := make(chan struct{})
	entered := make(chan struct{}, 1)
	a, left := attach(t, func(_ context.Context, c *agent.Conversation) (agent.Reply, error) {
		if c.ID == "hang" {
			entered <- struct{}{}
			<-hung
		}
		return agent.Say("fine"), nil
	})
	defer close(hung)
	ask(t, <-a.streams, 1, "hang", 0)
	<-entered
	a.end <- status.Error(codes.Unavailable, "restarting")
	select {
	case stream := <-a.streams:
		ask(t, stream, 1, "well", 0)
		if got := hear(t, stream); got.GetResponse().GetText() != "fine" {
			t.Errorf("turn on the next stream: got %v, want its answer", got)
		}
	case <-time.After(soon):
		t.Fatalf("the agent did not come back within %s", soon)
	}
	start := time.Now()
	if err := left(); err != nil {
		t.Errorf("Attach: got %v, want nil", err)
	}
	if took := time.Since(start); took > soon {
		t.Errorf("Attach returned after %s, want it within some 5 s", took)
	}
}

// TestAttachedTurnsEndInTime gives turns a time: the context ends with it, and a late answer is not
// sent.
func TestAttachedTurnsEndInTime(t *testing.T) {
	ended := make(chan error, 1)
	a, left := attach(t, func(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
		if c.ID == "slow" {
			<-ctx.Done()
			ended <- ctx.Err()
			return agent.Reply{}, ctx.Err()
		}
		return agent.Say("fine"), nil
	})
	stream := <-a.streams
	ask(t, stream, 1, "slow", 20*time.Millisecond)
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("context of the turn: got %v, want DeadlineExceeded", err)
	}
	ask(t, stream, 2, "well", time.Minute)
	if got := hear(t, stream); got.GetRequestId() != 2 || got.GetResponse().GetText() != "fine" {
		t.Errorf("next message: got %v, want the answer to request 2", got)
	}
	if err := left(); err != nil {
		t.Errorf("Attach: got %v, want nil", err)
	}
}

// TestServeWithHungTurn stops a server with a turn that does not heed its context.
func TestServeWithHungTurn(t *testing.T) {
	t.Parallel()
	hung, entered := make(chan struct{}), make(chan struct{})
	conn, stop := serve(t, agent.Func(func(context.Context, *agent.Conversation) (agent.Reply, error) {
		close(entered)
		<-hung
		return agent.Say("late"), nil
	}))
	defer close(hung)
	answered := make(chan error, 1)
	go func() {
		_, err := agentv1.NewAgentServiceClient(conn).Act(context.Background(), &agentv1.ActRequest{ConversationId: "1"})
		answered <- err
	}()
	<-entered
	start := time.Now()
	if err := stop(); err != nil {
		t.Errorf("stop: got %v, want no error", err)
	}
	if took := time.Since(start); took > soon {
		t.Errorf("Serve returned after %s, want it within some 6 s", took)
	}
	if err := <-answered; status.Code(err) != codes.Unavailable {
		t.Errorf("turn under way: got %v, want UNAVAILABLE", err)
	}
}
