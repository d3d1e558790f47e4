// Package rpc connects the services of an installation with each other and with NATS. Only this
// package knows whether a peer runs in this process (direct calls, embedded NATS) or elsewhere
// (TCP, with or without TLS).
//
// A Node is safe for concurrent use. The caller that creates it closes it after every Serve has
// returned.
package rpc

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

// Service names one of the four services.
type Service string

// These are the services.
const (
	Orchestrator Service = "orchestrator"
	ToolHost     Service = "toolhost"
	AgentGateway Service = "agentgw"
	Evaluator    Service = "evaluator"
)

// Services lists all services.
func Services() []Service { return []Service{Orchestrator, ToolHost, AgentGateway, Evaluator} }

// isPublic reports whether a service serves clients.
func (s Service) isPublic() bool { return s == Orchestrator || s == Evaluator }

// transport serves the services of a process and connects to others.
type transport interface {
	// open returns a server for a service of this process. Register handlers before serving.
	open(s Service, g *guard) (server, error)
	// dial connects to a service at an address, without waiting for it.
	dial(s Service, address string) (conn, error)
	// address returns the address of a service for people, empty in this process.
	address(s Service) string
	// announce returns the address at which peers reach a server of this process.
	announce(srv server) (string, error)
}

// server serves the handlers that are registered with it.
type server interface {
	grpc.ServiceRegistrar
	// Address returns the service's address.
	Address() string
	// Serve serves calls until it is stopped.
	Serve() error
	// GracefulStop rejects new calls and waits for running ones.
	GracefulStop()
	// Stop also cancels running calls.
	Stop()
}

// conn is a connection to a service.
type conn interface {
	grpc.ClientConnInterface
	connection
	Close() error
}

// Node holds a process's connections to its peers.
type Node struct {
	cfg       Config
	transport transport
	hosted    map[Service]bool
	peers     map[Service]*callee
	hosts     *hosts
	hostWaits *waitReporter
	announced atomic.Pointer[string] // address of this process's tool host, nil if it does not serve
	follow    func()                 // begins to follow the membership of the tool hosts
	server    *natsserver.Server     // nil if NATS runs elsewhere
	nats      *nats.Conn
	bus       *bus.Bus
	telemetry *telemetry.Telemetry
	logger    *slog.Logger
	closers   []func() error
	serving   atomic.Bool // the service of this process accepts calls

	reconnects atomic.Uint64 // how often the connection to NATS was restored
}

// Network is a service's view of a node: its peers and its own server. It excludes the bus; a
// service gets only its stores.
type Network interface {
	Conn(s Service) grpc.ClientConnInterface
	ToolHost(sessionID string) grpc.ClientConnInterface
	CheckOwner(sessionID string) error
	ToolHosts() (epoch int64, addresses []string)
	EachToolHost(ctx context.Context, visit func(grpc.ClientConnInterface) error) error
	Serve(ctx context.Context, s Service, register func(grpc.ServiceRegistrar)) error
	Drain(ctx context.Context) (work context.Context, stop context.CancelFunc)
	Telemetry() *telemetry.Telemetry
	Logger(s Service) *slog.Logger
}

// network hides the bus of a node.
type network struct{ Network }

// Network returns the view of a service.
func (n *Node) Network() Network { return network{n} }

// Options are the dependencies of a node.
type Options struct {
	// Logger receives the logs of services.
	Logger *slog.Logger
	// Telemetry may be nil.
	Telemetry *telemetry.Telemetry
}

// Connect joins an installation over TCP. Calls wait for peers that are not reachable yet. It waits
// for NATS and for the streams that InitBus makes, logs that, and returns the error of ctx when it
// is done.
func Connect(ctx context.Context, cfg Config, options Options) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	transport, err := newTCP(cfg, options)
	if err != nil {
		return nil, err
	}
	wait := &startWait{logger: options.Logger, address: redact(cfg.NATSURL)}
	conn, js, err := connectNATS(ctx, cfg, bus.Role(cfg.Service), options.Logger, wait)
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, nats: conn, telemetry: options.Telemetry, logger: options.Logger, hosted: map[Service]bool{cfg.Service: true}}
	conn.SetReconnectHandler(n.restored)
	n.onClose(func() error { conn.Close(); return nil })
	if n.bus, err = openBus(ctx, js, bus.Role(cfg.Service), wait); err == nil {
		err = n.dial(transport)
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// Open creates an installation in this process with its data in dir or, with cfg.Remote, joins one
// as a client of its gRPC services. Hosts reports which services the caller has to run.
func Open(ctx context.Context, cfg Config, dir string, options Options) (*Node, error) {
	if cfg.Remote {
		return client(cfg, options)
	}
	return local(ctx, cfg, dir, options)
}

// client joins an installation as a client of its gRPC services, without a bus.
func client(cfg Config, options Options) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	transport, err := newTCP(cfg, options)
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, telemetry: options.Telemetry, logger: options.Logger}
	if err := n.dial(transport); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Node) dial(t transport) error {
	n.transport = t
	n.peers = make(map[Service]*callee)
	n.follow = func() {}
	n.hosts = newHosts(func(address string) (conn, error) { return t.dial(ToolHost, address) }, n.logger)
	n.onClose(n.hosts.close)
	for _, service := range Services() {
		if service == ToolHost && n.bus != nil { // the bus tells the addresses
			n.follow = n.followHosts()
			n.hostWaits = n.newWaits(service, "")
			n.hostWaits.failed = n.hosts.failed
			continue
		}
		address := t.address(service)
		conn, err := t.dial(service, address)
		if err != nil {
			return err
		}
		n.onClose(conn.Close)
		n.peers[service] = &callee{waits: n.newWaits(service, address), route: direct{conn}}
		if service == ToolHost {
			n.askHosts(conn, address)
		}
	}
	return nil
}

func (n *Node) newWaits(s Service, address string) *waitReporter {
	w := &waitReporter{service: s, address: address, client: n.cfg.Remote, logger: n.logger}
	if w.client {
		if w.maxWait = n.cfg.Wait; w.maxWait == 0 {
			w.maxWait, w.connectWait = defaultWait, connectWait
		}
	}
	return w
}

// Conn returns a connection to any replica of a service. Its calls wait until the service is
// reachable, within their deadline.
func (n *Node) Conn(s Service) grpc.ClientConnInterface {
	if known, ok := n.peers[s]; ok {
		return known
	}
	return n.ToolHost("")
}

// Hosts reports whether a service has to run in this process.
func (n *Node) Hosts(s Service) bool { return n.hosted[s] }

// Bus returns the bus, nil for a client of another installation.
func (n *Node) Bus() *bus.Bus { return n.bus }

// Telemetry returns the process's telemetry. Its methods are safe to call even if it is turned off.
func (n *Node) Telemetry() *telemetry.Telemetry { return n.telemetry }

// Logger returns the logger of a service of this process.
func (n *Node) Logger(s Service) *slog.Logger { return n.logger.With("service", string(s)) }

// Close closes connections in the reverse order of their opening.
func (n *Node) Close() error {
	var errs []error
	for i := len(n.closers) - 1; i >= 0; i-- {
		errs = append(errs, n.closers[i]())
	}
	n.closers = nil
	return errors.Join(errs...)
}

func (n *Node) onClose(f func() error) { n.closers = append(n.closers, f) }
