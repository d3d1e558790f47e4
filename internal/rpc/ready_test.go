package rpc_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// TestReady checks that an orchestrator is ready while it serves, NATS answers and both peers can
// be reached, and that it names what is missing. Both ends use TLS.
func TestReady(t *testing.T) {
	dir, address := t.TempDir(), porttest.Address(t)
	nats := runNATS(t, dir, address)
	ours := newAuthority(t)
	cfg := rpc.DefaultConfig()
	cfg.NATSURL = "nats://" + address
	cfg.Orchestrators, cfg.ToolHosts, cfg.AgentGateways = []string{porttest.Address(t)}, []string{porttest.Address(t)}, []string{porttest.Address(t)}
	cfg.TLSCert, cfg.TLSKey = ours.peer(t, "peer")
	cfg.TLSCA = ours.file
	// run serves a service until stop is called.
	run := func(service rpc.Service) (m *rpc.Node, stop func()) {
		own := cfg
		own.Service = service
		m, err := rpc.Connect(t.Context(), own, options())
		m = closed(t, m, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Serve(ctx, service, func(grpc.ServiceRegistrar) {}) }()
		return m, func() {
			t.Helper()
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("Serve: got %v, want nil", err)
			}
		}
	}
	orchestrator, stop := run(rpc.Orchestrator)
	waitFor(t, orchestrator, "no toolhost can be reached")
	_, stopToolHost := run(rpc.ToolHost)
	waitFor(t, orchestrator, "no agentgw can be reached")
	gateway, stopGateway := run(rpc.AgentGateway)
	waitFor(t, orchestrator, "")
	waitFor(t, gateway, "")
	stopToolHost()
	waitFor(t, orchestrator, "no toolhost can be reached")
	_, stopToolHost = run(rpc.ToolHost)
	waitFor(t, orchestrator, "")
	nats()
	waitFor(t, orchestrator, "NATS does not answer")
	waitFor(t, gateway, "NATS does not answer")
	nats = runNATS(t, dir, address)
	waitFor(t, orchestrator, "")
	waitFor(t, gateway, "")
	stop()
	waitFor(t, orchestrator, "the service does not accept calls")
	stopGateway()
	stopToolHost()
	nats()
}

// TestReadySaysWhy checks that an orchestrator names the reason for which it cannot reach a tool
// host: its certificate has expired.
func TestReadySaysWhy(t *testing.T) {
	ours := newAuthority(t)
	cfg := rpc.DefaultConfig()
	cfg.NATSURL, cfg.TLSCA = startNATS(t), ours.file
	cfg.Orchestrators, cfg.ToolHosts, cfg.AgentGateways = []string{porttest.Address(t)}, []string{porttest.Address(t)}, []string{porttest.Address(t)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	serve := func(service rpc.Service, until time.Time) *rpc.Node {
		own := cfg
		own.Service = service
		own.TLSCert, own.TLSKey = ours.peerUntil(t, string(service), until)
		m, err := rpc.Connect(t.Context(), own, options())
		m = closed(t, m, err)
		go func() { ended <- m.Serve(ctx, service, func(grpc.ServiceRegistrar) {}) }()
		return m
	}
	serve(rpc.ToolHost, time.Now().Add(-time.Minute))
	waitFor(t, serve(rpc.Orchestrator, time.Now().Add(time.Hour)),
		"no toolhost can be reached: transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate has expired")
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Errorf("Serve: got %v, want nil", err)
		}
	}
}

// runNATS starts a server with streams in dir, until stop is called.
func runNATS(t *testing.T, dir, address string) (stop func()) {
	t.Helper()
	stop = natstest.Serve(t, natsserver.Config{Dir: dir, Listen: address})
	natstest.MakeStreams(t, address)
	return stop
}
