package rpc_test

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// relay forwards connections to an address until the test ends. cut closes the open ones.
func relay(t *testing.T, to string) (address string, cut func()) {
	t.Helper()
	var mu sync.Mutex
	var open []net.Conn
	var group sync.WaitGroup
	cut = func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range open {
			_ = conn.Close() // it may be closed
		}
		open = nil
	}
	t.Cleanup(func() {
		cut()
		group.Wait()
	})
	return listen(t, func(from net.Conn) {
		server, err := new(net.Dialer).DialContext(t.Context(), "tcp", to)
		if err != nil {
			_ = from.Close() // the caller dials again
			return
		}
		mu.Lock()
		defer mu.Unlock()
		open = append(open, from, server)
		for to, from := range map[net.Conn]net.Conn{server: from, from: server} {
			group.Go(func() {
				_, _ = io.Copy(to, from) // until they are cut or one side ends
				_ = to.Close()
			})
		}
	}), cut
}

// TestFirstConnectionBreaks breaks the first connection of a client while the service handles its
// first call. The call is repeated, and marked as a retry, since its work may be done.
func TestFirstConnectionBreaks(t *testing.T) {
	cfg := configure(nil)
	cfg.NATSURL = startNATS(t)
	cfg.Orchestrators = []string{porttest.Address(t)}
	served := cfg
	served.Service = rpc.Orchestrator
	server, err := rpc.Connect(t.Context(), served, options())
	server = closed(t, server, err)
	address, cut := relay(t, cfg.Orchestrators[0])
	cfg.Orchestrators, cfg.Remote = []string{address}, true
	client, err := rpc.Open(t.Context(), cfg, "", options())
	l := link{server, closed(t, client, err)}
	var calls atomic.Int32
	l.serve(t, &orchestrator{trajectory: func(ctx context.Context, id string) (*orchestratorv1.GetTrajectoryResponse, error) {
		if n := calls.Add(1); rpc.IsRetry(ctx) != (n > 1) {
			t.Errorf("call %d: repeated is %v, want %v", n, rpc.IsRetry(ctx), n > 1)
		}
		if calls.Load() == 1 {
			cut()
		}
		return named(id), nil
	}})
	if _, err := l.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"}); err != nil || calls.Load() != 2 {
		t.Errorf("GetTrajectory: got %v after %d calls, want nil after 2", err, calls.Load())
	}
}
