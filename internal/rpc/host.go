package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	rpcv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/rpc/v1"
)

const (
	// epochWait bounds the wait for a membership that another process knows already.
	epochWait = time.Second
	// leaveTimeout bounds how long a tool host tries to leave the membership before it drains.
	leaveTimeout = 2 * time.Second
	// followDelay is the pause before a membership that cannot be followed is followed again.
	followDelay = time.Second
)

// hosts are the live tool hosts as this process knows them, and connections to them. Safe for
// concurrent use.
type hosts struct {
	dial   func(address string) (conn, error)
	logger *slog.Logger
	// refresh asks for the membership where no bus tells it, and state is that of its connection. Both
	// are nil in a process with a bus.
	refresh func(ctx context.Context) (epoch int64, addresses []string, err error)
	state   func() connectivity.State

	current  atomic.Pointer[membership]
	wanted   atomic.Int64 // the highest epoch of which another process told
	outdated atomic.Bool  // refresh before the next attempt

	mu    sync.Mutex
	conns map[string]conn // by address; unused ones become idle
}

// membership is one version of the live tool hosts. It is immutable.
type membership struct {
	epoch     int64
	addresses []string
	changed   chan struct{} // closed when another one holds
}

func newHosts(dial func(address string) (conn, error), logger *slog.Logger) *hosts {
	h := &hosts{dial: dial, logger: logger, conns: make(map[string]conn)}
	h.current.Store(&membership{changed: make(chan struct{})})
	h.outdated.Store(true)
	return h
}

// adopt sets the membership. Its epoch is lower than that of the known one only if the stream of
// the membership was lost, or a tool host that a client has asked is behind.
func (h *hosts) adopt(epoch int64, addresses []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set(epoch, addresses)
}

// adoptNewer is adopt for a membership that may be older than the followed one.
func (h *hosts) adoptNewer(epoch int64, addresses []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if epoch > h.current.Load().epoch {
		h.set(epoch, addresses)
	}
}

func (h *hosts) set(epoch int64, addresses []string) {
	previous := h.current.Load()
	if epoch == previous.epoch && slices.Equal(addresses, previous.addresses) {
		return
	}
	h.current.Store(&membership{epoch: epoch, addresses: addresses, changed: make(chan struct{})})
	close(previous.changed)
	h.logger.Info("live tool hosts", "epoch", epoch, "addresses", addresses)
}

// failed learns from the error of an attempt.
func (h *hosts) failed(err error) {
	h.outdated.Store(true)
	for _, detail := range status.Convert(err).Details() {
		if moved, ok := detail.(*rpcv1.Moved); ok {
			for known := h.wanted.Load(); moved.GetEpoch() > known && !h.wanted.CompareAndSwap(known, moved.GetEpoch()); {
				known = h.wanted.Load()
			}
		}
	}
}

// wait returns the membership when it has members. It waits for one of which another process told.
func (h *hosts) wait(ctx context.Context) (*membership, error) {
	if h.refresh != nil && h.outdated.CompareAndSwap(true, false) {
		epoch, addresses, err := h.refresh(ctx)
		if err != nil {
			return nil, err
		}
		h.adopt(epoch, addresses)
	}
	known := h.current.Load()
	if h.usable(known) {
		return known, nil
	}
	return h.waitForMembers(ctx)
}

// usable reports whether a membership has members and is not older than one that is known to exist.
func (h *hosts) usable(known *membership) bool { return len(known.addresses) > 0 && !h.behind(known) }

// behind reports whether another process told of a newer membership, which is on its way.
func (h *hosts) behind(known *membership) bool {
	return known.epoch < h.wanted.Load() && h.refresh == nil
}

// waitForMembers waits for a usable membership, for a newer one up to epochWait.
func (h *hosts) waitForMembers(ctx context.Context) (*membership, error) {
	var timeout <-chan time.Time
	for {
		known := h.current.Load()
		switch {
		case len(known.addresses) == 0 && h.refresh != nil:
			return nil, status.Error(codes.Unavailable, "no tool host is live")
		case h.usable(known):
			return known, nil
		case h.behind(known) && timeout == nil:
			timer := time.NewTimer(epochWait)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-known.changed:
		case <-timeout:
			h.wanted.Store(known.epoch) // that of a stream that was lost since
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
}

// connect returns the connection to an address.
func (h *hosts) connect(address string) (conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.conns[address]; ok {
		return known, nil
	}
	made, err := h.dial(address)
	if err != nil {
		return nil, status.Errorf(codes.Unavailable, "tool host %s: %v", address, err)
	}
	h.conns[address] = made
	return made, nil
}

// close closes all connections.
func (h *hosts) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, conn := range h.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

// owner is the route to the tool host that owns a session.
type owner struct {
	hosts   *hosts
	session string
}

// GetState implements route.
func (o owner) GetState() connectivity.State {
	address := bus.Owner(o.hosts.current.Load().addresses, o.session)
	switch {
	case address == "" && o.hosts.state != nil:
		return o.hosts.state()
	case address == "":
		return connectivity.Connecting
	}
	conn, err := o.hosts.connect(address)
	if err != nil {
		return connectivity.TransientFailure
	}
	return conn.GetState()
}

// use implements route. An attempt that waits for a connection to a tool host ends with UNAVAILABLE
// when another one becomes the owner.
func (o owner) use(ctx context.Context, try func(context.Context, grpc.ClientConnInterface) error) error {
	known, err := o.hosts.wait(ctx)
	if err != nil {
		return err
	}
	address := bus.Owner(known.addresses, o.session)
	conn, err := o.hosts.connect(address)
	if err != nil {
		return err
	}
	if conn.GetState() == connectivity.Ready {
		return try(ctx, conn)
	}
	waiting, cancel := context.WithCancel(ctx)
	context.AfterFunc(ctx, cancel) // a stream outlives this call
	moved, stop := o.cancelIfMoved(known, address, conn, cancel)
	err = try(waiting, conn)
	stop()
	switch {
	case err != nil && moved.Load():
		return status.Errorf(codes.Unavailable, "session %s moved, while its tool host %s could not be reached", o.session, address)
	case status.Code(err) == codes.Unavailable && conn.GetState() != connectivity.Ready:
		return withMessage(err, func(said string) string { return fmt.Sprintf("tool host %s: %s", address, dialReason(said)) })
	}
	return err
}

// cancelIfMoved cancels an attempt when the owner changes before there is a connection, until stop
// is called.
func (o owner) cancelIfMoved(known *membership, address string, conn connection, cancel func()) (moved *atomic.Bool, stop func()) {
	moved = &atomic.Bool{}
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stopped:
				return
			case <-known.changed:
			}
			known = o.hosts.current.Load()
			if bus.Owner(known.addresses, o.session) != address && conn.GetState() != connectivity.Ready {
				moved.Store(true)
				cancel()
				return
			}
		}
	}()
	return moved, func() { close(stopped); <-ended }
}
