package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
)

const (
	// noticeAfter is how long a call waits before that is told: shorter times are restarts.
	noticeAfter = 3 * time.Second
	// noticeEvery is how often it is told while it lasts.
	noticeEvery = time.Minute
)

// waits makes the calls to one address of a service wait, and tells the log what for: for a
// connection, or for what makes the service say that it is tried again. It is told soon, again and
// again while it lasts, and when it is over, once for all calls. Safe for concurrent use.
type waits struct {
	service Service
	// address is where the service is reached; empty in this process.
	address string
	// client says that nothing but the answer is waited for here, so that a late one is told too.
	client bool
	// patience is how long a client repeats a call that has no deadline of its own; 0 makes it
	// once.
	patience time.Duration
	logger   *slog.Logger

	waiting atomic.Bool // the log was told, and not of the end

	mu    sync.Mutex
	last  time.Time // when it was told
	since time.Time // when what it was told of began
}

// unary is the interceptor of a gRPC connection.
func (w *waits) unary(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return w.invoke(ctx, conn, func(ctx context.Context) error { return invoke(ctx, method, req, reply, conn, opts...) })
}

// stream is the interceptor of a gRPC connection.
func (w *waits) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return w.open(ctx, conn, desc, func(ctx context.Context) (grpc.ClientStream, error) { return stream(ctx, desc, conn, method, opts...) })
}

// invoke makes a unary call.
func (w *waits) invoke(ctx context.Context, conn connection, try func(context.Context) error) error {
	c := w.begin(ctx, conn)
	return c.end(c.repeat(ctx, func(ctx context.Context, limit time.Duration) error {
		if _, limited := ctx.Deadline(); !limited {
			bounded, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			ctx = bounded
		}
		return try(ctx)
	}))
}

// open makes a stream. One that the client sends on is followed until it has a connection, a server
// stream until something comes.
func (w *waits) open(ctx context.Context, conn connection, desc *grpc.StreamDesc, try func(context.Context) (grpc.ClientStream, error)) (grpc.ClientStream, error) {
	if !desc.ClientStreams {
		return &reading{waits: w, conn: conn, ctx: ctx, open: try}, nil
	}
	c := w.begin(ctx, conn)
	stream, err := try(ctx)
	return stream, c.end(err)
}

// call is one call that may have to wait.
type call struct {
	waits    *waits
	conn     connection
	began    time.Time
	deadline time.Time // zero if there is none

	mu     sync.Mutex
	timer  *time.Timer // nil while there is nothing to wait for
	reason string      // why the last try failed
	ended  bool
}

// connection is what a call waits for.
type connection interface{ GetState() connectivity.State }

func (w *waits) begin(ctx context.Context, conn connection) *call {
	c := &call{waits: w, conn: conn, began: time.Now()}
	var limited bool
	if c.deadline, limited = ctx.Deadline(); !limited && w.patience > 0 {
		c.deadline = c.began.Add(w.patience)
	}
	if w.client || conn.GetState() != connectivity.Ready {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer = time.AfterFunc(noticeAfter, c.late)
	}
	return c
}

// late tells what the call waits for.
func (c *call) late() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.timer.Reset(noticeEvery)
	switch {
	case c.conn.GetState() != connectivity.Ready:
		c.waiting("no connection")
	case c.reason != "":
		c.tried()
	case c.waits.client:
		c.waiting("connected, no answer yet")
	}
}

// waiting tells that the service is waited for.
func (c *call) waiting(reason string) {
	c.waits.tell(c.began, func(attributes []any) {
		c.waits.logger.Warn("waiting for service", append(attributes, "reason", reason+c.left())...)
	})
}

// tried tells why the call is made again.
func (c *call) tried() {
	c.waits.tell(c.began, func(attributes []any) {
		c.waits.logger.Warn("service cannot answer yet, retrying", append(attributes, "reason", c.reason)...)
	})
}

// left says how long the call still waits.
func (c *call) left() string {
	if c.deadline.IsZero() {
		return ""
	}
	return fmt.Sprintf("; giving up in %s", time.Until(c.deadline).Round(time.Second))
}

// failed notes why a try failed, after which there may be another one.
func (c *call) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reason = status.Convert(err).Message()
	if c.timer == nil && !c.ended {
		c.timer = time.AfterFunc(noticeAfter, c.late)
	}
	if !c.ended && time.Since(c.began) >= noticeAfter {
		c.tried()
	}
}

// end returns what the call is to return: an error for want of a connection says where the service
// should be.
func (c *call) end(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.timer != nil {
		c.timer.Stop()
	}
	code := status.Code(err)
	switch {
	case err == nil:
		c.waits.answered()
	case c.waits.address != "" && (code == codes.Unavailable || code == codes.DeadlineExceeded) && c.conn.GetState() != connectivity.Ready:
		return restated(err, func(said string) string {
			return fmt.Sprintf("%s at %s cannot be reached: %s: start it or give another --%s-addr", c.waits.service, c.waits.address, said, c.waits.service)
		})
	case c.waits.patience > 0 && again(code):
		return restated(err, func(said string) string {
			if code == codes.DeadlineExceeded && c.reason != "" {
				said = c.reason
			}
			return fmt.Sprintf("%s at %s has not answered for %s (--remote-wait): %s", c.waits.service, c.waits.address, time.Since(c.began).Round(time.Second), said)
		})
	}
	return err
}

// restated returns a gRPC error with another message.
func restated(err error, message func(said string) string) error {
	stated := status.Convert(err).Proto()
	stated.Message = message(stated.GetMessage())
	return status.FromProto(stated).Err()
}

// tell says what is waited for, unless that was said a moment ago. since is when the call began.
func (w *waits) tell(since time.Time, say func(attributes []any)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !w.last.IsZero() && now.Sub(w.last) < noticeEvery {
		return
	}
	w.last = now
	if w.waiting.CompareAndSwap(false, true) {
		w.since = since
	}
	say(w.attributes())
}

// answered tells that the waiting is over, if the log knows of it.
func (w *waits) answered() {
	if !w.waiting.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting.CompareAndSwap(true, false) {
		w.logger.Warn("service answers", append(w.attributes(), "after", time.Since(w.since).Round(time.Second))...)
	}
}

// attributes say which service.
func (w *waits) attributes() []any {
	attributes := []any{"peer", string(w.service)}
	if w.address != "" {
		attributes = append(attributes, "address", w.address)
	}
	return attributes
}
