package attach_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
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
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTimeout bounds every wait for an expected event.
const testTimeout = 2 * time.Minute

// replica serves a registry in memory.
type replica struct {
	*attach.Registry
	client agentv1.AttachServiceClient
	// stop ends the replica.
	stop func()
}

func startReplica(t *testing.T, relay attach.Relay) replica {
	t.Helper()
	registry := attach.New(relay, 1<<20, 5*time.Millisecond, slog.New(slog.DiscardHandler))
	listener := bufconn.Listen(1 << 16)
	srv := grpc.NewServer(grpc.WaitForHandlers(true), grpc.MaxRecvMsgSize(8<<20))
	agentv1.RegisterAttachServiceServer(srv, registry)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///gateway", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(conn.Close()); err != nil {
			t.Error(err)
		}
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		registry.Wait()
	})
	return replica{registry, agentv1.NewAttachServiceClient(conn), srv.Stop}
}

// serve attaches an agent under the name mine. It answers with self and what it was asked until the
// test or the stream ends. serve returns once the agent is attached, with a function that ends the
// stream.
func serve(t *testing.T, r replica, self string) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := r.client.Attach(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Name{Name: "mine"}}); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			request, err := stream.Recv()
			if err != nil {
				return
			}
			answer := &agentv1.AttachAnswer{RequestId: request.GetRequestId()}
			if request.GetRequest().GetConversationId() == "bad" {
				answer.Error = "no model"
			} else {
				answer.Response = &agentv1.ActResponse{Text: self + " " + request.GetRequest().GetConversationId()}
			}
			if stream.Send(&agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Answer{Answer: answer}}) != nil {
				return
			}
		}
	})
	leave = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(leave)
	return leave
}

func act(t *testing.T, r replica, conversation string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	answer, _, err := r.Act(ctx, attach.Address{Name: "mine"}, &agentv1.ActRequest{ConversationId: conversation})
	return answer.GetText(), err
}

// TestRelay attaches an agent to one of two replicas and asks both, also before it is attached.
func TestRelay(t *testing.T) {
	b := natstest.Start(t)
	one, two := startReplica(t, b), startReplica(t, b)
	var group sync.WaitGroup
	for i := range 50 {
		for name, r := range map[string]replica{"one": one, "two": two} {
			group.Go(func() {
				conversation := fmt.Sprint(name, i)
				if got, err := act(t, r, conversation); err != nil || got != "a "+conversation {
					t.Errorf("Act(%s): got %q, %v, want %q", conversation, got, err, "a "+conversation)
				}
			})
		}
	}
	serve(t, one, "a")
	group.Wait()
	for name, r := range map[string]replica{"one": one, "two": two} {
		if _, err := act(t, r, "bad"); status.Code(err) != codes.Unknown || status.Convert(err).Message() != "no model" {
			t.Errorf("Act of an agent that fails, %s: got %v, want UNKNOWN with its reason", name, err)
		}
	}
}

// TestAffinity attaches two agents under one name. Each conversation stays with one of them.
func TestAffinity(t *testing.T) {
	r := startReplica(t, natstest.Start(t))
	leave := serve(t, r, "a")
	if got, err := act(t, r, "0"); err != nil || got != "a 0" {
		t.Fatalf("Act: got %q, %v, want it from a", got, err)
	}
	serve(t, r, "b")
	served := make(map[string]int)
	for n := 64; len(served) < 2; n++ { // until the second one is known
		got, err := act(t, r, fmt.Sprint(n))
		if err != nil {
			t.Fatal(err)
		}
		served[got[:1]]++
	}
	for i := range 64 { // with either
		if _, err := act(t, r, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	first, err := act(t, r, "7")
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if got, err := act(t, r, "7"); err != nil || got != first {
			t.Errorf("Act of the same conversation: got %q, %v, want %q again", got, err, first)
		}
	}
	leave()
	for i := range 64 {
		if got, err := act(t, r, fmt.Sprint(i)); err != nil || got[:1] != "b" {
			t.Errorf("Act after a left: got %q, %v, want it from b", got, err)
		}
	}
}

// TestStreamEndsDuringTurn ends a stream with a turn in flight.
func TestStreamEndsDuringTurn(t *testing.T) {
	r := startReplica(t, natstest.Start(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := r.client.Attach(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Name{Name: "mine"}}); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		if got, err := act(t, r, "x"); err != nil || got != "b x" {
			t.Errorf("Act: got %q, %v, want it from the second stream", got, err)
		}
	})
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	serve(t, r, "b")
	group.Wait()
}

// patientBus is a bus that learns who answers even after the requester's deadline.
type patientBus struct{ *bus.Bus }

func (u patientBus) Request(ctx context.Context, name string, request []byte) ([]byte, error) {
	return u.Bus.Request(context.WithoutCancel(ctx), name, request)
}

// emptyBus is a bus whose replicas have no answer.
type emptyBus struct{ *bus.Bus }

func (emptyBus) Request(context.Context, string, []byte) ([]byte, error) { return nil, nil }

// TestUnansweredRelay does not call an agent missing that is attached to another replica and does
// not answer in time: that replica may notice the end of the time first.
func TestUnansweredRelay(t *testing.T) {
	r := startReplica(t, emptyBus{natstest.Start(t)})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := r.Act(ctx, attach.Address{Name: "mine"}, &agentv1.ActRequest{}); !errors.Is(err, attach.ErrNoAnswer) {
		t.Errorf("Act of an agent that does not answer elsewhere: got %v, want ErrNoAnswer", err)
	}
}

func TestNotAttached(t *testing.T) {
	r := startReplica(t, patientBus{natstest.Start(t)})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := r.Act(ctx, attach.Address{Name: "mine"}, &agentv1.ActRequest{}); !errors.Is(err, attach.ErrNotAttached) {
		t.Errorf("Act without an agent: got %v, want ErrNobody", err)
	}
}

func TestRefusedStreams(t *testing.T) {
	r := startReplica(t, natstest.Start(t))
	attached := func(name string, answers int) error {
		stream, err := r.client.Attach(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Name{Name: name}}); err != nil {
			t.Fatal(err)
		}
		var sent atomic.Int64
		for range answers {
			stray := &agentv1.AttachRequest{Kind: &agentv1.AttachRequest_Answer{Answer: &agentv1.AttachAnswer{RequestId: sent.Add(1)}}}
			if stream.Send(stray) != nil {
				break // the stream has ended: Recv tells why
			}
		}
		_, err = stream.Recv()
		return err
	}
	for name, test := range map[string]struct {
		name    string
		answers int
	}{"bad name": {"a b", 0}, "no name": {"", 0}, "floods": {"mine", 2000}} {
		if err := attached(test.name, test.answers); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: got %v, want INVALID_ARGUMENT", name, err)
		}
	}
}

// TestIsAttached asks two replicas for an agent that is attached to one of them.
func TestIsAttached(t *testing.T) {
	b := natstest.Start(t)
	near, far := startReplica(t, b), startReplica(t, b)
	present := func(r replica, name string) bool {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
		defer cancel()
		there, err := r.IsAttached(ctx, attach.Address{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return there
	}
	if present(near, "mine") || present(far, "mine") {
		t.Error("before anybody has attached itself: got somebody, want nobody")
	}
	leave := serve(t, near, "one")
	for !present(near, "mine") || !present(far, "mine") { // it takes a moment until a stream is known
		runtime.Gosched()
	}
	if present(far, "other") {
		t.Error("another name: got somebody, want nobody")
	}
	leave()
	for present(near, "mine") || present(far, "mine") {
		runtime.Gosched()
	}
	if _, err := near.IsAttached(t.Context(), attach.Address{Name: "no name"}); err == nil {
		t.Error("a name that is none: got no error, want one")
	}
}
