package rpc

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/pause"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	rpcv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/rpc/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// ToolHost returns a connection to the live tool host that owns a session. Each attempt of a call
// goes to the owner of that moment.
func (n *Node) ToolHost(sessionID string) grpc.ClientConnInterface {
	n.follow()
	return &callee{waits: n.hostWaits, route: owner{n.hosts, sessionID}}
}

// EachToolHost calls visit with a connection to each live tool host. It asks a remote installation
// for them.
func (n *Node) EachToolHost(ctx context.Context, visit func(grpc.ClientConnInterface) error) error {
	n.follow()
	n.hosts.outdated.Store(true)
	var addresses []string
	call := n.hostWaits.begin(ctx, owner{n.hosts, ""})
	err := call.end(call.retry(ctx, func(ctx context.Context, limit time.Duration) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		known, err := n.hosts.wait(ctx)
		if err == nil {
			addresses = known.addresses
		}
		return err
	}))
	if err != nil {
		return err
	}
	for _, address := range addresses {
		conn, err := n.hosts.connect(address)
		if err != nil {
			return err
		}
		if err := visit(&callee{waits: n.newWaits(ToolHost, address), route: direct{conn}}); err != nil {
			return err
		}
	}
	return nil
}

// Owner returns the address of the live tool host that owns a session, empty if none is known.
func (n *Node) Owner(sessionID string) string {
	n.follow()
	return bus.Owner(n.hosts.current.Load().addresses, sessionID)
}

// CheckOwner returns nil if this process's tool host owns a session. Otherwise the error is
// UNAVAILABLE, and tells the caller to look the owner up again.
func (n *Node) CheckOwner(sessionID string) error {
	known, own := n.hosts.current.Load(), n.announced.Load()
	address := bus.Owner(known.addresses, sessionID)
	if own != nil && address == *own {
		return nil
	}
	st, err := status.Newf(codes.Unavailable, "session %s moved: its tool host is %q (epoch %d)", sessionID, address, known.epoch).
		WithDetails(&rpcv1.Moved{Epoch: known.epoch})
	if err != nil {
		return status.Errorf(codes.Internal, "session %s moved: %v", sessionID, err)
	}
	return st.Err()
}

// ToolHosts returns the live tool hosts as this process knows them.
func (n *Node) ToolHosts() (epoch int64, addresses []string) {
	known := n.hosts.current.Load()
	return known.epoch, slices.Clone(known.addresses)
}

// followHosts returns a function that begins to follow the membership of the tool hosts, until the
// node is closed. Only services that call tool hosts may read it.
func (n *Node) followHosts() (follow func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	n.onClose(func() error { cancel(); following.Wait(); return nil })
	return sync.OnceFunc(func() { following.Go(func() { n.watchHosts(ctx) }) })
}

func (n *Node) watchHosts(ctx context.Context) {
	for {
		err := n.bus.WatchMembership(ctx, string(ToolHost), func(m *busv1.Membership) { n.hosts.adopt(m.GetEpoch(), m.GetAddresses()) })
		if ctx.Err() != nil {
			return
		}
		n.logger.Warn("the membership of the tool hosts cannot be followed, retrying", "error", err)
		if !pause.For(ctx, followDelay) {
			return
		}
	}
}

// askHosts lets a client ask a tool host for the others.
func (n *Node) askHosts(conn conn, address string) {
	n.hostWaits = n.newWaits(ToolHost, address)
	n.hostWaits.failed, n.hostWaits.failFast = n.hosts.failed, true
	n.hosts.state = conn.GetState
	client := toolhostv1.NewToolHostServiceClient(conn)
	n.hosts.refresh = func(ctx context.Context) (int64, []string, error) {
		response, err := client.ListHosts(ctx, &toolhostv1.ListHostsRequest{}, n.hostWaits.options(nil)...)
		return response.GetEpoch(), response.GetAddresses(), err
	}
}

// joinHosts makes this process's tool host one of the live ones, until leave. It does nothing for
// other services.
func (n *Node) joinHosts(ctx context.Context, s Service, srv server) (leave func(context.Context), err error) {
	if s != ToolHost {
		return func(context.Context) {}, nil
	}
	address, err := n.transport.announce(srv)
	if err != nil {
		return nil, err
	}
	n.follow()
	n.announced.Store(&address)
	member, err := n.bus.JoinMembership(ctx, string(s), address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	leave = func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
		defer cancel()
		if err := member.Leave(ctx); err != nil {
			n.Logger(s).Warn("cannot leave the live tool hosts; the others remove this one after some seconds", "error", err)
		}
	}
	joined, err := n.bus.Membership(ctx, string(s))
	if err != nil {
		leave(ctx)
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	n.hosts.adoptNewer(joined.GetEpoch(), joined.GetAddresses())
	return leave, nil
}
