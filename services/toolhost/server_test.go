package toolhost

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/host"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/toolserver"
)

func TestMain(m *testing.M) {
	if os.Getenv(envProcess) != "" {
		os.Exit(runProcess())
	}
	goleak.VerifyTestMain(m)
}

// fixture is a tool host on a file, with gRPC in memory.
type fixture struct {
	conn   *grpc.ClientConn
	client toolhostv1.ToolHostServiceClient
	// close stops it and keeps the file. The end of the test calls it too.
	close func()
}

// serve starts a tool host with its sessions in the file. It has no key of the hosted services.
func serve(tb testing.TB, file string, publisher host.Bus, check func(string) error, change ...func(*host.Config)) fixture {
	tb.Helper()
	return serveWith(tb, file, publisher, check, newServices(tb, service.ClientConfig{}), change...)
}

// newServices returns a client of the hosted services. The end of the test closes it.
func newServices(tb testing.TB, cfg service.ClientConfig) *service.Client {
	tb.Helper()
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultConfig().ServiceTimeout)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	services, err := service.NewClient(cfg)
	if err != nil {
		tb.Fatalf("make client: %v", err)
	}
	tb.Cleanup(services.Close)
	return services
}

// serveWith is serve with a client of the hosted services.
func serveWith(tb testing.TB, file string, publisher host.Bus, check func(string) error, services *service.Client, change ...func(*host.Config)) fixture {
	tb.Helper()
	return serveTools(tb, file, publisher, check, services, tool.Builtin(), change...)
}

// serveTools is serveWith with other tools.
func serveTools(tb testing.TB, file string, publisher host.Bus, check func(string) error, services *service.Client, catalogue *tool.Catalogue, change ...func(*host.Config)) fixture {
	tb.Helper()
	return serveServers(tb, file, publisher, check, services, catalogue, toolserver.NewClient(toolserver.Config{}), change...)
}

// serveServers is serveTools with a client of tool servers.
func serveServers(tb testing.TB, file string, publisher host.Bus, check func(string) error, services *service.Client, catalogue *tool.Catalogue, servers *toolserver.Client, change ...func(*host.Config)) fixture {
	tb.Helper()
	sessions, err := store.Open(store.Config{Path: file})
	if err != nil {
		tb.Fatalf("open store: %v", err)
	}
	defaults := DefaultConfig()
	cfg := host.Config{CachedSessions: defaults.CachedSessions, CacheBytes: defaults.CacheBytes, MaxRows: defaults.MaxRows, MaxCalls: defaults.MaxCalls, MaxBytes: defaults.MaxBytes}
	for _, f := range change {
		f(&cfg)
	}
	owner, err := host.New(cfg, sessions, publisher, catalogue, services, servers)
	if err != nil {
		tb.Fatalf("make host: %v", err)
	}
	meters, err := newMeters(owner, sessions, filepath.Dir(file))
	if err != nil {
		tb.Fatalf("make metrics: %v", err)
	}
	listener := bufconn.Listen(1 << 20)
	srv := grpc.NewServer()
	toolhostv1.RegisterToolHostServiceServer(srv, &server{host: owner, catalogue: catalogue, check: check, meters: meters})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///toolhost", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	closed := false
	f := fixture{conn: conn, client: toolhostv1.NewToolHostServiceClient(conn), close: func() {
		if closed {
			return
		}
		closed = true
		if err := conn.Close(); err != nil {
			tb.Errorf("close connection: %v", err)
		}
		srv.GracefulStop()
		if err := <-served; err != nil {
			tb.Errorf("serve: %v", err)
		}
		if err := errors.Join(meters.stop(), sessions.Close()); err != nil {
			tb.Errorf("close store: %v", err)
		}
	}}
	tb.Cleanup(f.close)
	return f
}

func ownsAll(string) error { return nil }

// ownsAllBut returns the check of a tool host that owns all sessions except one.
func ownsAllBut(other string) func(string) error {
	return func(id string) error {
		if id == other {
			return status.Error(codes.Unavailable, "moved")
		}
		return nil
	}
}

// start is serve with a new file and bus.
func start(tb testing.TB) toolhostv1.ToolHostServiceClient {
	tb.Helper()
	bus := natstest.Start(tb)
	return serve(tb, filepath.Join(tb.TempDir(), storeFile), bus, ownsAll).client
}
