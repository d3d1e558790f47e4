package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

const (
	// noticeAfter is the time before a waiting call is logged. Restarts take less.
	noticeAfter = 3 * time.Second
	// noticeEvery is the interval of further log lines.
	noticeEvery = time.Minute
	// connectWait is how long a client retries a call to an address that it has never reached. The
	// last attempt may take another second.
	connectWait = 3 * time.Second
)

// waitReporter makes calls to one address of a service wait for a connection, retries them, and
// logs what they wait for: after noticeAfter, then every noticeEvery, and at the end. It logs once
// for all calls. Safe for concurrent use.
type waitReporter struct {
	service Service
	// address is the service's address, empty in this process.
	address string
	// client is set if the process is a client. It then also logs slow calls.
	client bool
	// maxWait is how long a client retries a call without a deadline of its own. 0 disables retries.
	maxWait time.Duration
	// connectWait is how long a client retries a call before its first connection. 0 means maxWait.
	connectWait time.Duration
	// failFast makes an attempt fail as soon as dialling does, since the next one may go elsewhere.
	failFast bool
	// failed learns from the error of an attempt. It may be nil.
	failed func(error)
	logger *slog.Logger

	connected atomic.Bool // there has been a connection

	waiting atomic.Bool // a wait was logged, and its end was not

	mu    sync.Mutex
	last  time.Time // time of the last log line
	since time.Time // beginning of the logged wait
}

// options adds to the options of an attempt. Before the first connection it fails as soon as
// dialling does, with the reason.
func (w *waitReporter) options(opts []grpc.CallOption) []grpc.CallOption {
	if w.reached() && !w.failFast {
		return opts
	}
	return append(slices.Clip(opts), grpc.WaitForReady(false))
}

// unary makes an attempt of a unary call. One that had a connection was the service's to handle,
// even if the connection has broken since.
func (w *waitReporter) unary(opts []grpc.CallOption, try func(opts []grpc.CallOption) error) error {
	if w.reached() {
		return try(w.options(opts))
	}
	var server peer.Peer
	err := try(append(w.options(opts), grpc.Peer(&server)))
	if server.Addr != nil {
		w.connected.Store(true)
	}
	return err
}

// reached reports whether there has been a connection, if that matters.
func (w *waitReporter) reached() bool { return w.connectWait == 0 || w.connected.Load() }

// invoke invokes a unary call.
func (w *waitReporter) invoke(ctx context.Context, conn connection, try func(context.Context) error) error {
	c := w.begin(ctx, conn)
	return c.end(c.retry(ctx, func(ctx context.Context, limit time.Duration) error {
		if _, limited := ctx.Deadline(); !limited {
			bounded, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			ctx = bounded
		}
		return try(ctx)
	}))
}

// open opens a stream. It reports waits of a client stream until it has a connection, of a server
// stream until its first message.
func (w *waitReporter) open(ctx context.Context, conn connection, desc *grpc.StreamDesc, try func(context.Context) (grpc.ClientStream, error)) (grpc.ClientStream, error) {
	if !desc.ClientStreams {
		return &retryStream{waits: w, conn: conn, ctx: ctx, open: try}, nil
	}
	c := w.begin(ctx, conn)
	stream, err := try(ctx)
	return stream, c.end(err)
}

// call is one call that may wait.
type call struct {
	waits    *waitReporter
	conn     connection
	began    time.Time
	deadline time.Time // zero if there is none

	mu     sync.Mutex
	timer  *time.Timer // nil while the call does not wait
	reason string      // error of the last attempt
	ended  bool
}

// connection is the state that a call waits for.
type connection interface{ GetState() connectivity.State }

func (w *waitReporter) begin(ctx context.Context, conn connection) *call {
	c := &call{waits: w, conn: conn, began: time.Now()}
	var limited bool
	if c.deadline, limited = ctx.Deadline(); !limited && w.maxWait > 0 {
		c.deadline = c.began.Add(w.maxWait)
	}
	if w.client || conn.GetState() != connectivity.Ready {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer = time.AfterFunc(noticeAfter, c.report)
	}
	return c
}

// report logs what the call waits for.
func (c *call) report() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.timer.Reset(noticeEvery)
	switch {
	case !c.waits.reached(): // the call fails soon
	case c.conn.GetState() != connectivity.Ready:
		c.logWaiting("no connection")
	case c.reason != "":
		c.logRetry()
	case c.waits.client:
		c.logWaiting("connected, no answer yet")
	}
}

// logWaiting logs that the call waits for the service.
func (c *call) logWaiting(reason string) {
	c.waits.log(c.began, func(attributes []any) {
		c.waits.logger.Warn("waiting for service", append(attributes, "reason", reason+c.remaining())...)
	})
}

// logRetry logs why the call is retried.
func (c *call) logRetry() {
	c.waits.log(c.began, func(attributes []any) {
		c.waits.logger.Warn("service cannot answer yet, retrying", append(attributes, "reason", c.reason)...)
	})
}

// remaining describes how long the call will still wait.
func (c *call) remaining() string {
	if c.deadline.IsZero() {
		return ""
	}
	return fmt.Sprintf("; giving up in %s", time.Until(c.deadline).Round(time.Second))
}

// recordFailure records the error of an attempt.
func (c *call) recordFailure(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reason = status.Convert(err).Message()
	if !c.waits.reached() {
		return
	}
	if c.timer == nil && !c.ended {
		c.timer = time.AfterFunc(noticeAfter, c.report)
	}
	if !c.ended && time.Since(c.began) >= noticeAfter {
		c.logRetry()
	}
}

// end returns the final error of the call. The error of a missing connection names the service's
// address.
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
		return withMessage(err, func(said string) string {
			return fmt.Sprintf("%s at %s cannot be reached: %s: start it with toolsandbox serve %s or give another --%s-addr",
				c.waits.service, c.waits.address, dialReason(said), c.waits.service, c.waits.service)
		})
	case c.waits.address != "" && isForeign(err):
		return withMessage(err, func(said string) string {
			return fmt.Sprintf("%s at %s: another server answers, which is not this service (%s): give another --%s-addr", c.waits.service, c.waits.address, said, c.waits.service)
		})
	case c.waits.maxWait > 0 && isRetryable(code):
		return withMessage(err, func(said string) string {
			if code == codes.DeadlineExceeded && c.reason != "" {
				said = c.reason
			}
			return fmt.Sprintf("%s at %s has not answered for %s (--remote-wait): %s", c.waits.service, c.waits.address, time.Since(c.began).Round(time.Second), said)
		})
	}
	return err
}

// withMessage returns a gRPC error with another message.
func withMessage(err error, message func(said string) string) error {
	detailed := status.Convert(err).Proto()
	detailed.Message = message(detailed.GetMessage())
	return status.FromProto(detailed).Err()
}

// log logs a wait unless a recent line covers it. since is when the call began.
func (w *waitReporter) log(since time.Time, say func(attributes []any)) {
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

// answered logs the end of a logged wait.
func (w *waitReporter) answered() {
	if !w.waiting.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting.CompareAndSwap(true, false) {
		w.logger.Warn("service answers", append(w.attributes(), "after", time.Since(w.since).Round(time.Second))...)
	}
}

// attributes returns the log attributes of the service.
func (w *waitReporter) attributes() []any {
	attributes := []any{"peer", string(w.service)}
	if w.address != "" {
		attributes = append(attributes, "address", w.address)
	}
	return attributes
}
