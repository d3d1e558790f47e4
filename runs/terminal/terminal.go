// Package terminal lets a person play a role at a terminal: it serves
// toolsandbox.agent.v1.AgentService to the gateway of this machine, shows the conversation, and
// reads the person's texts and calls.
package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrAddressInUse means that another program listens at a player's address.
var ErrAddressInUse = errors.New("an address that another program uses")

// Ports that no system gives out by itself. The one of an interrupted run is free when it resumes.
const (
	firstPort = 20000
	lastPort  = 32767
)

// Player is a person at a terminal who plays one role. Close it.
type Player struct {
	server  *grpc.Server
	address string
	served  chan error
}

// Serve lets the person at a console play a role (USER or AGENT), one conversation after the other.
// Several players may share a console. address is the Address of an earlier run; empty means any
// port of this machine. It is ErrAddressInUse if another program has that port.
func Serve(ctx context.Context, console *Console, role worldv1.Role, address string) (*Player, error) {
	listener, err := listen(ctx, address)
	if err != nil {
		return nil, err
	}
	p := &Player{server: grpc.NewServer(grpc.WaitForHandlers(true)), address: listener.Addr().String(), served: make(chan error, 1)}
	agentv1.RegisterAgentServiceServer(p.server, &service{console: console, role: role})
	go func() { p.served <- p.server.Serve(listener) }()
	return p, nil
}

// listen listens at an address, or at a free port of this machine if it is empty.
func listen(ctx context.Context, address string) (listener net.Listener, err error) {
	var config net.ListenConfig
	if address != "" {
		listener, err = config.Listen(ctx, "tcp", address)
	} else {
		first := rand.IntN(lastPort - firstPort)
		for i := range lastPort - firstPort {
			port := firstPort + (first+i)%(lastPort-firstPort)
			listener, err = config.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if !errors.Is(err, syscall.EADDRINUSE) {
				break
			}
		}
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %w", cmp.Or(address, "every port"), ErrAddressInUse)
	case err != nil:
		return nil, fmt.Errorf("serve the person at the terminal: %w", err)
	}
	return listener, nil
}

// Address is the player's address for the gateway.
func (p *Player) Address() string { return p.address }

// Close ends a running turn and stops serving.
func (p *Player) Close() error {
	p.server.Stop()
	if err := <-p.served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve the person at the terminal: %w", err)
	}
	return nil
}

// service translates between the wire and the console.
type service struct {
	agentv1.UnimplementedAgentServiceServer
	console *Console
	role    worldv1.Role
}

// Act implements AgentService.
func (s *service) Act(ctx context.Context, req *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	answer, err := s.console.turn(ctx, s.role, req)
	switch {
	case errors.Is(err, errPlayerLeft):
		return nil, status.Error(codes.Aborted, err.Error())
	case err != nil:
		return nil, status.FromContextError(err).Err()
	}
	return answer, nil
}
