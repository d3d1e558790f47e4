package rpc

import (
	"context"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// memory is the transport within this process. Caller and handler share immutable messages, and get
// copies of others. Telemetry measures no call: callers and services say what they do.
type memory struct {
	cfg    Config
	logger *slog.Logger
	conns  map[Service]*memoryConn
}

func newMemory(cfg Config, logger *slog.Logger) *memory {
	m := &memory{cfg: cfg, logger: logger, conns: make(map[Service]*memoryConn)}
	for _, s := range Services() {
		ctx, cancel := context.WithCancel(context.Background())
		m.conns[s] = &memoryConn{ctx: ctx, close: cancel, change: make(chan struct{})}
	}
	return m
}

func (t *memory) dial(s Service, _ string) (conn, error) { return t.conns[s], nil }

func (t *memory) address(Service) string { return "" }

func (t *memory) announce(srv server) (string, error) { return srv.Address(), nil }

func (t *memory) open(s Service, g *guard) (server, error) {
	h := &memoryServer{
		conn: t.conns[s], guard: g, copier: copier{limit: t.cfg.MaxMessageBytes}, methods: make(map[string]registered),
		goroutines: newPool(), stopped: make(chan struct{}),
	}
	h.ctx, h.cancel = context.WithCancel(h.conn.ctx)
	if s != Orchestrator || t.cfg.Socket == "" {
		return h, nil
	}
	served, err := openSocket(h, t.cfg.Socket, g, t.cfg.MaxMessageBytes)
	if err != nil {
		t.logger.Warn("toolsandbox sweep --out cannot reach this run", "socket", t.cfg.Socket, "error", err)
		return h, nil
	}
	return served, nil
}

// memoryConn is the connection to a service of this process. Calls wait until the service serves.
type memoryConn struct {
	ctx   context.Context // ends when the connection is closed
	close context.CancelFunc

	mu       sync.Mutex
	handlers *memoryServer // nil while the service does not serve
	change   chan struct{} // closed when handlers changes
}

// Invoke implements grpc.ClientConnInterface.
func (c *memoryConn) Invoke(ctx context.Context, method string, request, response any, opts ...grpc.CallOption) error {
	current, err := c.wait(ctx)
	if err != nil {
		return err
	}
	return current.Invoke(ctx, method, request, response, opts...)
}

// NewStream implements grpc.ClientConnInterface.
func (c *memoryConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	current, err := c.wait(ctx)
	if err != nil {
		return nil, err
	}
	return current.NewStream(ctx, desc, method, opts...)
}

// GetState returns Ready if the service serves.
func (c *memoryConn) GetState() connectivity.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handlers == nil || c.ctx.Err() != nil {
		return connectivity.Connecting
	}
	return connectivity.Ready
}

// Close ends the connection's calls.
func (c *memoryConn) Close() error {
	c.close()
	return nil
}

// wait waits until the service serves and returns its handlers.
func (c *memoryConn) wait(ctx context.Context) (*memoryServer, error) {
	for {
		c.mu.Lock()
		current, change := c.handlers, c.change
		c.mu.Unlock()
		if current != nil {
			return current, nil
		}
		select {
		case <-change:
		case <-c.ctx.Done():
			return nil, status.Error(codes.Canceled, "the connection is closed")
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
}

// serve sets the handlers of calls, nil for none.
func (c *memoryConn) serve(h *memoryServer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers = h
	close(c.change)
	c.change = make(chan struct{})
}

// memoryServer is the server of a service of this process.
type memoryServer struct {
	conn       *memoryConn
	guard      *guard
	copier     copier
	witness    witness               // of shared messages
	methods    map[string]registered // by full name
	goroutines *pool                 // of calls
	ctx        context.Context       // ends with the running calls
	cancel     context.CancelFunc
	stopped    chan struct{}

	mu       sync.Mutex
	stopping bool
	running  sync.WaitGroup
}

// Address implements server.
func (h *memoryServer) Address() string { return "in this process" }

// Serve implements server.
func (h *memoryServer) Serve() error {
	h.mu.Lock()
	if !h.stopping {
		h.conn.serve(h)
	}
	h.mu.Unlock()
	<-h.stopped
	return nil
}

// GracefulStop implements server.
func (h *memoryServer) GracefulStop() {
	h.mu.Lock()
	h.stopping = true
	h.conn.serve(nil)
	h.mu.Unlock()
	h.running.Wait()
	h.goroutines.close()
	h.witness.check()
	h.cancel()
	close(h.stopped)
}

// Stop implements server.
func (h *memoryServer) Stop() { h.cancel() }

// enter counts a running call until leave. The handler's context ends with the server or the
// caller's context. It has the caller's metadata and trace but no other values.
func (h *memoryServer) enter(ctx context.Context) (bounded context.Context, leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopping {
		return nil, nil, status.Error(codes.Unavailable, "the service is stopping")
	}
	h.running.Add(1)
	bounded, cancel := context.WithCancel(handlerContext{ctx})
	if sent, ok := metadata.FromOutgoingContext(ctx); ok {
		bounded = metadata.NewIncomingContext(bounded, sent)
	}
	if at := trace.SpanFromContext(ctx); at.SpanContext().IsRemote() {
		bounded = trace.ContextWithSpan(bounded, at)
	} else if at.SpanContext().IsValid() {
		bounded = trace.ContextWithRemoteSpanContext(bounded, at.SpanContext())
	}
	unlink := context.AfterFunc(h.ctx, cancel)
	return bounded, func() { unlink(); cancel(); h.running.Done() }, nil
}

// callError returns the error of a call. A call that ended with the server is retryable.
func (h *memoryServer) callError(err error) error {
	if err != nil && h.ctx.Err() != nil {
		return status.Error(codes.Unavailable, "the service has stopped")
	}
	return err
}
