// Package mesh connects the services of an installation with each other and with NATS. It is the
// one place that knows whether a peer lives in this process (its handlers are called, NATS is
// embedded) or elsewhere (TCP, with or without TLS).
//
// A Mesh is safe for concurrent use. Whoever makes it closes it, after every Serve has returned.
package mesh

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

// Service names one of the four services.
type Service string

// The services.
const (
	Orchestrator Service = "orchestrator"
	ToolHost     Service = "toolhost"
	AgentGateway Service = "agentgw"
	Evaluator    Service = "evaluator"
)

// Services lists all services.
func Services() []Service { return []Service{Orchestrator, ToolHost, AgentGateway, Evaluator} }

// transport is how a process serves its services and reaches others.
type transport interface {
	// open makes a server for a service of this process. Handlers are registered with it before it
	// serves.
	open(s Service, g *guard) (server, error)
	// dial returns one connection per shard of a service.
	dial(s Service) ([]conn, error)
}

// server serves the handlers that are registered with it.
type server interface {
	reflection.GRPCServer
	// Address says where the service is reached.
	Address() string
	// Serve serves calls until it is stopped.
	Serve() error
	// GracefulStop refuses new calls and waits for those that are running.
	GracefulStop()
	// Stop ends the running calls, too.
	Stop()
}

// conn is a connection to a service.
type conn interface {
	grpc.ClientConnInterface
	connection
	Close() error
}

// Mesh is a process's connections to its peers.
type Mesh struct {
	cfg       Config
	transport transport
	hosted    map[Service]bool
	peers     map[Service][]conn
	nats      *nats.Conn
	bus       *bus.Bus
	telemetry *telemetry.Telemetry
	logger    *slog.Logger
	closers   []func() error
}

// Network is what a service sees of a mesh: its peers and how it is served itself, but not the bus,
// of which it gets the stores that it may use.
type Network interface {
	Conn(s Service) grpc.ClientConnInterface
	Shard(s Service, key string) grpc.ClientConnInterface
	Owns(s Service, key string) bool
	ShardIndex(s Service) int
	ShardCount(s Service) int
	Serve(ctx context.Context, s Service, register func(grpc.ServiceRegistrar)) error
	Telemetry() *telemetry.Telemetry
	Logger(s Service) *slog.Logger
}

// Parts are what a mesh is given beside its configuration.
type Parts struct {
	// Logger receives what services log.
	Logger *slog.Logger
	// Telemetry may be nil.
	Telemetry *telemetry.Telemetry
}

// Connect joins an installation whose services and NATS server are reached over TCP. Peers that are
// not there yet are waited for by each call; the NATS server must be there.
func Connect(ctx context.Context, cfg Config, parts Parts) (*Mesh, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	resolveSooner()
	conn, err := connectNATS(cfg, parts.Logger)
	if err != nil {
		return nil, err
	}
	m := &Mesh{cfg: cfg, nats: conn, telemetry: parts.Telemetry, logger: parts.Logger, hosted: map[Service]bool{cfg.Service: true}}
	m.onClose(func() error { conn.Close(); return nil })
	return m.open(ctx, &tcp{cfg: cfg, telemetry: parts.Telemetry, logger: parts.Logger})
}

// Open makes an installation in this process that keeps its data in dir or, if cfg says so, joins
// one as a client of its gRPC services. Hosts tells which services the caller has to run.
func Open(ctx context.Context, cfg Config, dir string, parts Parts) (*Mesh, error) {
	if cfg.Remote {
		return client(cfg, parts)
	}
	return local(ctx, cfg, dir, parts)
}

// client joins an installation as a client of its gRPC services only: there is no bus.
func client(cfg Config, parts Parts) (*Mesh, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m := &Mesh{cfg: cfg, telemetry: parts.Telemetry, logger: parts.Logger}
	if err := m.dial(&tcp{cfg: cfg, telemetry: parts.Telemetry, logger: parts.Logger}); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// open finishes a mesh whose NATS connection stands.
func (m *Mesh) open(ctx context.Context, t transport) (*Mesh, error) {
	js, err := jetstream.New(m.nats)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open JetStream: %w", err), m.Close())
	}
	if m.bus, err = bus.Open(ctx, js, m.cfg.Bus); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	if err := m.dial(t); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Mesh) dial(t transport) error {
	m.transport = t
	m.peers = make(map[Service][]conn)
	for _, service := range Services() {
		conns, err := t.dial(service)
		if err != nil {
			return err
		}
		m.peers[service] = conns
		for _, conn := range conns {
			m.onClose(conn.Close)
		}
	}
	return nil
}

// Conn returns a connection to any replica of a service. Calls on it wait until the service is
// there, within their deadline.
func (m *Mesh) Conn(s Service) grpc.ClientConnInterface { return m.peers[s][0] }

// Shard returns a connection to the replica of a service that owns a key.
func (m *Mesh) Shard(s Service, key string) grpc.ClientConnInterface {
	conns := m.peers[s]
	return conns[shardOf(key, len(conns))]
}

// Owns says whether this process is the shard of a service that owns a key.
func (m *Mesh) Owns(s Service, key string) bool {
	return shardOf(key, len(m.peers[s])) == m.ShardIndex(s)
}

// ShardIndex returns this process's position among the shards of a service.
func (m *Mesh) ShardIndex(s Service) int {
	if s == m.cfg.Service {
		return m.cfg.ShardIndex
	}
	return 0
}

// ShardCount returns the number of shards of a service.
func (m *Mesh) ShardCount(s Service) int { return len(m.peers[s]) }

// Hosts says whether a service has to run in this process.
func (m *Mesh) Hosts(s Service) bool { return m.hosted[s] }

// Bus returns the bus; nil for a client of an installation that runs elsewhere.
func (m *Mesh) Bus() *bus.Bus { return m.bus }

// Telemetry returns the process's telemetry; it may be turned off but can always be called.
func (m *Mesh) Telemetry() *telemetry.Telemetry { return m.telemetry }

// Logger returns the logger of a service of this process.
func (m *Mesh) Logger(s Service) *slog.Logger { return m.logger.With("service", string(s)) }

// Close closes connections in the reverse order of their opening.
func (m *Mesh) Close() error {
	var errs []error
	for i := len(m.closers) - 1; i >= 0; i-- {
		errs = append(errs, m.closers[i]())
	}
	m.closers = nil
	return errors.Join(errs...)
}

func (m *Mesh) onClose(f func() error) { m.closers = append(m.closers, f) }

func shardOf(key string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % uint32(shards))
}
