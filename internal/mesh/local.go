package mesh

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

// StreamDirectory is where an installation of one process keeps its streams, below its directory.
const StreamDirectory = "nats"

const (
	bufferBytes      = 1 << 20
	natsReadyTimeout = 20 * time.Second
	natsMaxPayload   = 8 << 20
)

// local makes an installation of one process: services meet in memory, and an embedded NATS server
// keeps its streams in dir. Addresses, TLS and NATS settings of cfg are not read. A directory that
// cannot be written is an error.
func local(ctx context.Context, cfg Config, dir string, parts Parts) (*Mesh, error) {
	if err := cfg.Bus.Validate(); err != nil {
		return nil, err
	}
	cfg.TLSCert, cfg.TLSKey, cfg.TLSCA = "", "", ""
	srv, err := StartNATS(NATSConfig{Dir: filepath.Join(dir, StreamDirectory), Sync: cfg.Sync})
	if err != nil {
		return nil, err
	}
	m := &Mesh{cfg: cfg, telemetry: parts.Telemetry, logger: parts.Logger, hosted: make(map[Service]bool)}
	for _, service := range Services() {
		m.hosted[service] = true
	}
	m.onClose(srv.Close)
	conn, err := nats.Connect("", nats.InProcessServer(srv.server), nats.Name("toolsandbox"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to the embedded NATS server: %w", err), m.Close())
	}
	m.nats = conn
	m.onClose(func() error { conn.Close(); return nil })
	return m.open(ctx, &memory{cfg: cfg, telemetry: parts.Telemetry, logger: parts.Logger, listeners: make(map[Service]*bufconn.Listener)})
}

// memory reaches peers in this process.
type memory struct {
	cfg       Config
	telemetry *telemetry.Telemetry
	logger    *slog.Logger

	mu        sync.Mutex
	listeners map[Service]*bufconn.Listener
}

func (t *memory) listener(s Service) *bufconn.Listener {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listeners[s] == nil {
		t.listeners[s] = bufconn.Listen(bufferBytes)
	}
	return t.listeners[s]
}

func (t *memory) listen(s Service) (net.Listener, error) { return t.listener(s), nil }

func (t *memory) dial(s Service) ([]*grpc.ClientConn, error) {
	options := append(clientOptions(t.cfg, t.telemetry, &waits{service: s, logger: t.logger}),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return t.listener(s).DialContext(ctx) }))
	conn, err := grpc.NewClient("passthrough:///"+string(s), options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s, err)
	}
	return []*grpc.ClientConn{conn}, nil
}

// NATSConfig says how an embedded NATS server runs.
type NATSConfig struct {
	// Dir holds the streams; it is made if it does not exist.
	Dir string
	// Listen is host:port for clients; empty serves this process only.
	Listen string
	// Sync says when streams are on disk; empty is SyncInterval.
	Sync Sync
}

// NATS is an embedded NATS JetStream server.
type NATS struct{ server *server.Server }

// StartNATS starts a server and waits until it is ready. Close it.
func StartNATS(cfg NATSConfig) (*NATS, error) {
	if err := writable(cfg.Dir); err != nil {
		return nil, err
	}
	options := &server.Options{
		ServerName: "toolsandbox",
		JetStream:  true,
		StoreDir:   cfg.Dir,
		MaxPayload: natsMaxPayload,
		NoSigs:     true,
		NoLog:      true,
		DontListen: cfg.Listen == "",
		SyncAlways: cfg.Sync == SyncAlways,
	}
	if cfg.Listen != "" {
		host, port, err := splitAddress(cfg.Listen)
		if err != nil {
			return nil, err
		}
		probe, err := net.Listen("tcp", cfg.Listen)
		if err != nil {
			return nil, fmt.Errorf("NATS: listen on %s: %w: stop the other process or choose another --listen", cfg.Listen, err)
		}
		if err := probe.Close(); err != nil {
			return nil, fmt.Errorf("NATS: listen on %s: %w", cfg.Listen, err)
		}
		options.Host, options.Port = host, port
	}
	if options.SyncAlways {
		// A goroutine that syncs gives its processor away and has to wait for one when it is done.
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 2*runtime.NumCPU()))
	}
	srv, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("start NATS in %s: %w", cfg.Dir, err)
	}
	srv.Start()
	if !srv.ReadyForConnections(natsReadyTimeout) {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, fmt.Errorf("start NATS in %s: not ready after %s: is the directory in use by another process?", cfg.Dir, natsReadyTimeout)
	}
	return &NATS{server: srv}, nil
}

// Close stops the server and waits until its files are closed.
func (n *NATS) Close() error {
	n.server.Shutdown()
	n.server.WaitForShutdown()
	return nil
}

// writable makes a directory and checks that files can be made in it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("data directory %s cannot be made: %w: choose another one", dir, err)
	}
	probe, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return fmt.Errorf("data directory %s cannot be written: %w: choose another one", dir, err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("data directory %s cannot be written: %w: choose another one", dir, err)
	}
	return nil
}
