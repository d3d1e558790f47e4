package rpc_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/pause"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	rpcv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/rpc/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// toolHost answers with its own name, for sessions that it owns.
type toolHost struct {
	toolhostv1.UnimplementedToolHostServiceServer
	node *rpc.Node
	name string
}

func (h *toolHost) GetSession(_ context.Context, req *toolhostv1.GetSessionRequest) (*toolhostv1.GetSessionResponse, error) {
	if err := h.node.CheckOwner(req.GetSessionId()); err != nil {
		return nil, err
	}
	return &toolhostv1.GetSessionResponse{Session: &toolhostv1.Session{Id: req.GetSessionId(), SetupName: h.name}}, nil
}

func (h *toolHost) ListVersions(req *toolhostv1.ListVersionsRequest, stream grpc.ServerStreamingServer[toolhostv1.ListVersionsResponse]) error {
	if err := h.node.CheckOwner(req.GetSessionId()); err != nil {
		return err
	}
	return stream.Send(&toolhostv1.ListVersionsResponse{})
}

func (h *toolHost) ListHosts(context.Context, *toolhostv1.ListHostsRequest) (*toolhostv1.ListHostsResponse, error) {
	epoch, addresses := h.node.ToolHosts()
	return &toolhostv1.ListHostsResponse{Epoch: epoch, Addresses: addresses}, nil
}

// serveToolHost serves a tool host until stop is called.
func serveToolHost(t *testing.T, m *rpc.Node, name string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- m.Serve(ctx, rpc.ToolHost, func(r grpc.ServiceRegistrar) {
			toolhostv1.RegisterToolHostServiceServer(r, &toolHost{node: m, name: name})
		})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve of %s: got %v, want nil", name, err)
		}
	})
	t.Cleanup(stop)
	return stop
}

const sessions = 60

// ownersOf asks for every session, by a call and by a stream, and returns who answered.
func ownersOf(t *testing.T, m *rpc.Node) (owners map[string]string) {
	t.Helper()
	owners = make(map[string]string)
	for n := range sessions {
		id := fmt.Sprint("s.", n)
		client := toolhostv1.NewToolHostServiceClient(m.ToolHost(id))
		response, err := client.GetSession(within(t), &toolhostv1.GetSessionRequest{SessionId: id})
		if err != nil {
			t.Fatalf("GetSession of %s: %v", id, err)
		}
		owners[id] = response.GetSession().GetSetupName()
		stream, err := client.ListVersions(within(t), &toolhostv1.ListVersionsRequest{SessionId: id})
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			t.Fatalf("ListVersions of %s: %v", id, err)
		}
	}
	return owners
}

// TestToolHosts calls tool hosts while they come and go, from a service and from a client without a
// bus. Each session is answered by one, and only those of the tool host that comes or goes move.
func TestToolHosts(t *testing.T) {
	cfg := configure(nil)
	cfg.NATSURL = startNATS(t)
	address := map[string]string{"a": porttest.Address(t), "b": porttest.Address(t)}
	node := func(service rpc.Service, listen string) *rpc.Node {
		cfg := cfg
		cfg.Service, cfg.Listen = service, listen
		m, err := rpc.Connect(t.Context(), cfg, options())
		return closed(t, m, err)
	}
	caller := node(rpc.Orchestrator, "")
	serveToolHost(t, node(rpc.ToolHost, address["a"]), "a")
	remote := cfg
	remote.Remote, remote.ToolHosts = true, []string{address["a"]}
	m, err := rpc.Open(t.Context(), remote, "", options())
	client := closed(t, m, err)
	check := func(when string, want ...string) map[string]string {
		t.Helper()
		owners := ownersOf(t, caller)
		for id, owner := range ownersOf(t, client) {
			if owner != owners[id] || !slices.Contains(want, owner) {
				t.Errorf("%s, owner of %s: got %s for a client and %s for a service, want one of %v", when, id, owner, owners[id], want)
			}
		}
		var live []string
		err := client.EachToolHost(within(t), func(conn grpc.ClientConnInterface) error {
			response, err := toolhostv1.NewToolHostServiceClient(conn).ListHosts(within(t), &toolhostv1.ListHostsRequest{})
			live = response.GetAddresses()
			return err
		})
		if err != nil || len(live) != len(want) {
			t.Errorf("%s, live tool hosts: got %v and %v, want %d", when, live, err, len(want))
		}
		return owners
	}
	check("one", "a")
	second := node(rpc.ToolHost, address["b"])
	leave := serveToolHost(t, second, "b")
	joined := within(t)
	for _, addresses := caller.ToolHosts(); len(addresses) < 2; _, addresses = caller.ToolHosts() {
		if !pause.For(joined, 10*time.Millisecond) {
			t.Fatal("the second tool host does not join")
		}
	}
	two := check("two", "a", "b")
	if count := len(slices.Collect(valuesEqual(two, "b"))); count < sessions/5 || count > sessions*4/5 {
		t.Errorf("sessions of the second tool host: got %d of %d, want about half", count, sessions)
	}
	leave()
	check("one again", "a")
	err = second.CheckOwner("s.0")
	details := status.Convert(err).Details()
	if status.Code(err) != codes.Unavailable || len(details) != 1 || details[0].(*rpcv1.Moved).GetEpoch() < 2 {
		t.Errorf("CheckOwner after leaving: got %v with %v, want %v with an epoch", err, details, codes.Unavailable)
	}
}

func valuesEqual(all map[string]string, want string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for key, value := range all {
			if value == want && !yield(key) {
				return
			}
		}
	}
}

// TestToolHostStopsBeforeItJoins stops a tool host that is not yet one of the live ones.
func TestToolHostStopsBeforeItJoins(t *testing.T) {
	m, err := rpc.Open(t.Context(), configure(func(cfg *rpc.Config) { cfg.Grace = time.Nanosecond }), t.TempDir(), options())
	m = closed(t, m, err)
	for range 5 {
		serveToolHost(t, m, "a")()
	}
}

// TestToolHostInThisProcess calls a tool host of this process before it serves, and after it has
// served twice.
func TestToolHostInThisProcess(t *testing.T) {
	m, err := rpc.Open(t.Context(), configure(nil), t.TempDir(), options())
	m = closed(t, m, err)
	for round := range 2 {
		answered := make(chan error, 1)
		go func() {
			_, err := toolhostv1.NewToolHostServiceClient(m.ToolHost("s")).GetSession(within(t), &toolhostv1.GetSessionRequest{SessionId: "s"})
			answered <- err
		}()
		stop := serveToolHost(t, m, "a")
		if err := <-answered; err != nil {
			t.Errorf("round %d: GetSession: %v", round, err)
		}
		stop()
	}
}
