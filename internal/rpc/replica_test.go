package rpc_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/resolver"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// names resolves one name on demand, as DNS does, without notice of changes.
type names struct {
	mu        sync.Mutex
	addresses []resolver.Address
}

func (n *names) add(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses = append(n.addresses, resolver.Address{Addr: address})
}

// Scheme implements resolver.Builder.
func (n *names) Scheme() string { return "replicas" }

// Build implements resolver.Builder.
func (n *names) Build(_ resolver.Target, conn resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	l := &lookup{names: n, conn: conn}
	l.ResolveNow(resolver.ResolveNowOptions{})
	return l, nil
}

type lookup struct {
	names *names
	conn  resolver.ClientConn
}

// ResolveNow implements resolver.Resolver.
func (l *lookup) ResolveNow(resolver.ResolveNowOptions) {
	l.names.mu.Lock()
	defer l.names.mu.Unlock()
	_ = l.conn.UpdateState(resolver.State{Addresses: append([]resolver.Address(nil), l.names.addresses...)}) // gRPC resolves again
}

// Close implements resolver.Resolver.
func (l *lookup) Close() {}

// TestLongNewReplica adds a replica while a client calls the first one without pause. The new
// replica gets calls within 30 seconds, and no call fails.
func TestLongNewReplica(t *testing.T) {
	replicas := &names{}
	resolver.Register(replicas)
	url := startNATS(t)
	var second atomic.Int32
	start := func(trajectory func(context.Context, string) (*orchestratorv1.GetTrajectoryResponse, error)) {
		address := porttest.Address(t)
		cfg := configure(nil)
		cfg.NATSURL, cfg.Service, cfg.Orchestrators = url, rpc.Orchestrator, []string{address}
		m, err := rpc.Connect(t.Context(), cfg, options())
		l := link{server: closed(t, m, err)}
		l.serve(t, &orchestrator{trajectory: trajectory})
		replicas.add(address)
	}
	start(echo)
	cfg := configure(nil)
	cfg.NATSURL, cfg.Remote, cfg.Orchestrators = url, true, []string{"replicas:///orchestrator"}
	m, err := rpc.Open(t.Context(), cfg, "", options())
	client := link{client: closed(t, m, err)}
	var added time.Time
	for pause := time.Tick(10 * time.Millisecond); second.Load() == 0; <-pause {
		if _, err := client.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"}); err != nil {
			t.Fatal(err)
		}
		if added.IsZero() {
			start(func(ctx context.Context, id string) (*orchestratorv1.GetTrajectoryResponse, error) {
				second.Add(1)
				return echo(ctx, id)
			})
			added = time.Now()
		}
		if waited := time.Since(added); waited > 30*time.Second {
			t.Fatalf("the new replica got no call in %s, want one within 30s", waited)
		}
	}
}
