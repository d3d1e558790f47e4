package health_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/health"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	serving    = healthv1.HealthCheckResponse_SERVING
	notServing = healthv1.HealthCheckResponse_NOT_SERVING
)

// patience bounds every wait for something that must happen.
const patience = time.Minute

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func dial(t *testing.T, address string) healthv1.HealthClient {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return healthv1.NewHealthClient(conn)
}

// checkRefusals sends requests that no probe sends.
func checkRefusals(ctx context.Context, t *testing.T, client healthv1.HealthClient) {
	t.Helper()
	if _, err := client.Check(ctx, &healthv1.HealthCheckRequest{Service: "unknown"}); status.Code(err) != codes.NotFound {
		t.Errorf("an unknown service: got %v, want %v", err, codes.NotFound)
	}
	if _, err := client.Check(ctx, &healthv1.HealthCheckRequest{Service: strings.Repeat("x", 1<<20)}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a large request: got %v, want %v", err, codes.ResourceExhausted)
	}
	large := metadata.AppendToOutgoingContext(ctx, "x", strings.Repeat("x", 16<<10))
	if _, err := client.Check(large, &healthv1.HealthCheckRequest{}); status.Code(err) != codes.Internal {
		t.Errorf("large headers: got %v, want %v", err, codes.Internal)
	}
}

// TestFollow changes whether a process can do its work, and then drains it.
func TestFollow(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	address := porttest.Address(t)
	server, err := health.Start(ctx, health.Config{Listen: address}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	client := dial(t, address)
	watch, err := client.Watch(ctx, &healthv1.HealthCheckRequest{Service: health.Readiness})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when string, want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if got, err := watch.Recv(); err != nil || got.GetStatus() != want {
			t.Errorf("readiness %s: got %v, %v, want %v, nil", when, got, err, want)
		}
		if got, err := client.Check(ctx, &healthv1.HealthCheckRequest{}); err != nil || got.GetStatus() != serving {
			t.Errorf("liveness %s: got %v, %v, want %v, nil", when, got, err, serving)
		}
	}
	expect("before the process serves", notServing)
	var broken atomic.Bool
	hangs := make(chan struct{}, 1)
	draining, drain := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		server.Follow(draining, func(ctx context.Context) error {
			if !broken.Load() {
				return nil
			}
			select {
			case hangs <- struct{}{}:
			default:
			}
			<-ctx.Done() // as a NATS that is stopped: the check ends with its own limit
			return errors.New("no answer")
		})
	})
	expect("when all is well", serving)
	broken.Store(true)
	expect("while a check hangs", notServing)
	broken.Store(false)
	expect("when all is well again", serving)
	drain()
	following.Wait()
	expect("in a drain", notServing)
	checkRefusals(ctx, t, client)
	if err := server.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	if _, err := watch.Recv(); err == nil {
		t.Error("watch of a closed server: got nil, want an error")
	}
}

// TestNone checks that nothing listens unless an address is given.
func TestNone(t *testing.T) {
	server, err := health.Start(t.Context(), health.Config{}, quiet())
	if server != nil || err != nil {
		t.Fatalf("Start: got %v, %v, want nil, nil", server, err)
	}
	server.Follow(t.Context(), func(context.Context) error { t.Error("check: got a call, want none"); return nil })
	if err := server.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
}

// TestCloseAtOnce closes servers that may not have begun to serve, as a process does that fails at
// its start.
func TestCloseAtOnce(t *testing.T) {
	address := porttest.Address(t)
	for range 50 {
		server, err := health.Start(t.Context(), health.Config{Listen: address}, quiet())
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Close(); err != nil {
			t.Fatalf("Close: got %v, want nil", err)
		}
	}
}

func TestErrors(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}()
	taken := listener.Addr().String()
	_, err = health.Start(t.Context(), health.Config{Listen: taken}, quiet())
	if err == nil || !strings.HasPrefix(err.Error(), "listen for probes on "+taken) || !strings.HasSuffix(err.Error(), "choose another --health-listen") {
		t.Errorf("port in use: got %v, want an error that names it and the flag", err)
	}
	for _, listen := range []string{"7400", "localhost", "localhost:"} {
		if err := (health.Config{Listen: listen}).Validate(); err == nil || !strings.HasPrefix(err.Error(), "--health-listen: ") {
			t.Errorf("Validate of %q: got %v, want an error that names the flag", listen, err)
		}
	}
	for _, listen := range []string{"", ":7400", "127.0.0.1:7400"} {
		if err := (health.Config{Listen: listen}).Validate(); err != nil {
			t.Errorf("Validate of %q: got %v, want nil", listen, err)
		}
	}
}
