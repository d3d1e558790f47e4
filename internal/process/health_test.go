package process

import (
	"context"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/certtest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// TestProbes stops and starts NATS under a process with TLS, and drains it. Readiness follows,
// liveness stays.
func TestProbes(t *testing.T) {
	quiet(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir, address := t.TempDir(), porttest.Address(t)
	nats := startNATS(t, dir, address)
	probes, drained, ended := porttest.Address(t), make(chan struct{}), make(chan error, 1)
	process := newSecureProcess(t, address, probes, drained)
	running, stop := context.WithCancel(ctx)
	go func() { ended <- process.Run(running) }()

	conn, err := grpc.NewClient(probes, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	client := healthv1.NewHealthClient(conn)
	watch, err := client.Watch(ctx, &healthv1.HealthCheckRequest{Service: "readiness"})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when string, want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		for { // a start is first seen as not ready
			got, err := watch.Recv()
			if err != nil {
				t.Fatalf("readiness %s: got %v, want %v", when, err, want)
			}
			if got.GetStatus() == want {
				break
			}
		}
		if got, err := client.Check(ctx, &healthv1.HealthCheckRequest{}); err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("liveness %s: got %v, %v, want %v, nil", when, got, err, healthv1.HealthCheckResponse_SERVING)
		}
	}
	expect("with NATS", healthv1.HealthCheckResponse_SERVING)
	for range 2 {
		nats()
		expect("without NATS", healthv1.HealthCheckResponse_NOT_SERVING)
		nats = startNATS(t, dir, address)
		expect("with NATS again", healthv1.HealthCheckResponse_SERVING)
	}
	stop()
	expect("in a drain", healthv1.HealthCheckResponse_NOT_SERVING)
	close(drained)
	if err := <-ended; err != nil {
		t.Errorf("Run: got %v, want nil", err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	nats()
}

// newSecureProcess returns an evaluator with TLS that serves nothing, and whose drain takes until
// drained is closed.
func newSecureProcess(t *testing.T, nats, probes string, drained <-chan struct{}) *Process {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	process := NewProcess(rpc.Evaluator, func(*pflag.FlagSet) Run {
		return func(ctx context.Context, m *rpc.Node) error {
			err := m.Serve(ctx, rpc.Evaluator, func(grpc.ServiceRegistrar) {})
			<-drained
			return err
		}
	}, flags)
	certificate, key := certtest.SelfSigned(t)
	if err := flags.Parse([]string{
		"--nats-url=nats://" + nats, "--evaluator-addr=" + porttest.Address(t), "--health-listen=" + probes,
		"--tls-cert=" + certificate, "--tls-key=" + key, "--tls-ca=" + certificate,
	}); err != nil {
		t.Fatal(err)
	}
	return process
}

// startNATS starts a server with streams in dir, until stop is called.
func startNATS(t *testing.T, dir, address string) (stop func()) {
	t.Helper()
	stop = natstest.Serve(t, natsserver.Config{Dir: dir, Listen: address})
	natstest.MakeStreams(t, address)
	return stop
}
