package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/pause"
)

const (
	// connectInterval is the time between two looks at connections that are being made.
	connectInterval = 50 * time.Millisecond
	// failureTimeout bounds the call that a failing connection answers with its last error.
	failureTimeout = 100 * time.Millisecond
)

// errNotServing means that the service of this process does not accept calls: it starts or drains.
var errNotServing = errors.New("the service does not accept calls")

// needs lists the peers that a service calls. The others it reaches through NATS.
func needs(s Service) []Service {
	if s == Orchestrator {
		return []Service{ToolHost, AgentGateway}
	}
	return nil
}

// Ready returns nil if the service of this process can do its work now: it accepts calls, NATS
// answers for the bus, and each service that it calls has a process that can be reached. Otherwise
// it returns the reason, at the latest when ctx is done. It makes missing connections.
func (n *Node) Ready(ctx context.Context) error {
	if !n.serving.Load() {
		return errNotServing
	}
	if err := n.bus.Ping(ctx); err != nil {
		return err
	}
	for _, service := range needs(n.cfg.Service) {
		if conns := n.connections(service); !isReachable(ctx, conns) {
			return fmt.Errorf("no %s can be reached%s", service, failureText(ctx, conns))
		}
	}
	return nil
}

// Reconnects returns how often the connection to NATS was lost and restored.
func (n *Node) Reconnects() uint64 { return n.reconnects.Load() }

// restored counts and logs a restored connection to NATS. The statistics of the connection count
// refused ones, too.
func (n *Node) restored(conn *nats.Conn) {
	n.reconnects.Add(1)
	n.logger.Info("NATS connection restored", "server", conn.ConnectedUrlRedacted())
}

// connections returns the connections to a service: one, or one to each live tool host.
func (n *Node) connections(s Service) []conn {
	if known, ok := n.peers[s]; ok {
		if d, ok := known.route.(direct); ok {
			return []conn{d.conn}
		}
	}
	n.follow()
	var conns []conn
	for _, address := range n.hosts.current.Load().addresses {
		if c, err := n.hosts.connect(address); err == nil {
			conns = append(conns, c)
		}
	}
	return conns
}

// isReachable waits until one of the connections exists.
func isReachable(ctx context.Context, conns []conn) bool {
	if len(conns) == 0 {
		return false
	}
	for {
		if slices.ContainsFunc(conns, func(c conn) bool { return c.GetState() == connectivity.Ready }) {
			return true
		}
		for _, c := range conns {
			if dialled, ok := c.(interface{ Connect() }); ok {
				dialled.Connect() // it does nothing unless the connection is idle
			}
		}
		if !pause.For(ctx, connectInterval) {
			return false
		}
	}
}

// failureText returns why the first of the failing connections fails, such as for an expired
// certificate. It is empty if none has failed yet. ctx may be done.
func failureText(ctx context.Context, conns []conn) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failureTimeout)
	defer cancel()
	for _, c := range conns {
		if c.GetState() != connectivity.TransientFailure {
			continue
		}
		err := c.Invoke(ctx, "/grpc.health.v1.Health/Check", &healthv1.HealthCheckRequest{}, &healthv1.HealthCheckResponse{}, grpc.WaitForReady(false))
		if status.Code(err) == codes.Unavailable {
			return ": " + dialReason(status.Convert(err).Message())
		}
	}
	return ""
}
