package mesh

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

// StreamDirectory is where an installation of one process keeps its streams, below its directory.
const StreamDirectory = "nats"

const (
	bufferBytes = 1 << 20
)

// local makes an installation of one process: services meet in memory, and an embedded NATS server
// keeps its streams in dir. Addresses, TLS and NATS settings of cfg are not read. A directory that
// cannot be written is an error.
func local(ctx context.Context, cfg Config, dir string, parts Parts) (*Mesh, error) {
	if err := cfg.Bus.Validate(); err != nil {
		return nil, err
	}
	cfg.TLSCert, cfg.TLSKey, cfg.TLSCA = "", "", ""
	srv, err := natsserver.Start(natsserver.Config{Dir: filepath.Join(dir, StreamDirectory), Sync: cfg.Sync})
	if err != nil {
		return nil, err
	}
	m := &Mesh{cfg: cfg, telemetry: parts.Telemetry, logger: parts.Logger, hosted: make(map[Service]bool)}
	for _, service := range Services() {
		m.hosted[service] = true
	}
	m.onClose(srv.Close)
	conn, err := srv.Connect()
	if err != nil {
		return nil, errors.Join(err, m.Close())
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
