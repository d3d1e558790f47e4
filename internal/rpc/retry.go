package rpc

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/pause"
)

const (
	// attemptTimeout bounds one attempt of a call without a deadline. It exceeds the time that a
	// service waits for NATS, so that the service can report that. An attempt that times out is
	// followed by one with twice the timeout.
	attemptTimeout = time.Minute
	// initialBackoff and maxBackoff bound the exponential backoff between attempts.
	initialBackoff = 100 * time.Millisecond
	maxBackoff     = time.Second
	// unlimited exceeds the duration of any call.
	unlimited = time.Duration(math.MaxInt64)
	// maxAttempts bounds the attempts of a service's call. The caller of the service retries too.
	maxAttempts = 5
	// stableAfter is how long a stream has to last to count as recovered.
	stableAfter = time.Minute
)

// attemptsHeader is the number of earlier attempts of a retried call. gRPC's own retries use the
// same header.
const attemptsHeader = "grpc-previous-rpc-attempts"

// IsRetry reports whether the handled call is a retry, so that its work may be done already.
func IsRetry(ctx context.Context) bool {
	return len(metadata.ValueFromIncomingContext(ctx, attemptsHeader)) > 0
}

// isRetryable reports whether a failed call may succeed if it is retried. All calls of the services
// are safe to retry.
func isRetryable(code codes.Code) bool {
	return code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.Canceled
}

// retry retries a call until it is answered or not retryable: a client's call until its patience
// ends, a service's call a few times. try gets the timeout of the attempt.
func (c *call) retry(ctx context.Context, try func(ctx context.Context, limit time.Duration) error) error {
	limit, delay := attemptTimeout, initialBackoff
	for attempts := 1; ; attempts++ {
		longest := limit
		if !c.deadline.IsZero() {
			longest = min(limit, time.Until(c.deadline))
		}
		attempt := ctx
		if attempts > 1 {
			attempt = metadata.AppendToOutgoingContext(ctx, attemptsHeader, strconv.Itoa(attempts-1))
		}
		err := try(attempt, longest)
		if err == nil || c.conn.GetState() == connectivity.Ready {
			c.waits.connected.Store(true)
		}
		if err == nil || !c.waits.reached() && time.Since(c.began) >= c.waits.connectWait {
			return err
		}
		if !c.waits.reached() {
			attempts = 0 // the service has seen none
		}
		code := status.Code(err)
		if code == codes.Unavailable {
			c.recordFailure(err)
		}
		if c.waits.failed != nil {
			c.waits.failed(err)
		}
		if !c.canRetry(code, attempts) || !c.deadline.IsZero() && time.Until(c.deadline) <= delay || !pause.For(ctx, delay) {
			return err
		}
		if code == codes.DeadlineExceeded {
			limit *= 2
		}
		delay = min(2*delay, maxBackoff)
	}
}

func (c *call) canRetry(code codes.Code, attempts int) bool {
	if c.waits.maxWait > 0 {
		return isRetryable(code)
	}
	return code == codes.Unavailable && attempts < maxAttempts
}

// retryStream is a server stream that is reopened, as a call is retried, until the first message
// arrives. After that, a failure is final.
type retryStream struct {
	waits *waitReporter
	conn  connection
	ctx   context.Context
	open  func(ctx context.Context) (grpc.ClientStream, error)

	request any
	stream  grpc.ClientStream // nil before the first attempt
	close   context.CancelFunc
	started time.Time // time of the first message, zero before
}

// SendMsg implements grpc.ClientStream. Each attempt sends the request.
func (r *retryStream) SendMsg(request any) error {
	r.request = request
	return nil
}

// CloseSend implements grpc.ClientStream.
func (r *retryStream) CloseSend() error { return nil }

// Context implements grpc.ClientStream.
func (r *retryStream) Context() context.Context { return r.ctx }

// Header implements grpc.ClientStream. It returns nil before the first message.
func (r *retryStream) Header() (metadata.MD, error) {
	if r.stream == nil {
		return nil, nil
	}
	return r.stream.Header()
}

// Trailer implements grpc.ClientStream.
func (r *retryStream) Trailer() metadata.MD {
	if r.stream == nil {
		return nil
	}
	return r.stream.Trailer()
}

// RecvMsg implements grpc.ClientStream.
func (r *retryStream) RecvMsg(message any) error {
	if r.started.IsZero() {
		return r.first(message)
	}
	err := r.stream.RecvMsg(message)
	if err != nil {
		r.close()
	}
	if r.ctx.Err() == nil && isRetryable(status.Code(err)) {
		return &brokenError{waits: r.waits, after: time.Since(r.started), err: err}
	}
	return err
}

// first waits for the first message or the end of an empty stream.
func (r *retryStream) first(message any) error {
	c := r.waits.begin(r.ctx, r.conn)
	empty := false
	err := c.end(c.retry(r.ctx, func(ctx context.Context, limit time.Duration) error {
		if r.waits.maxWait == 0 {
			limit = unlimited // the caller's context bounds a service's stream
		}
		err := r.attempt(ctx, limit, message)
		if empty = errors.Is(err, io.EOF); empty {
			return nil
		}
		return err
	}))
	if empty {
		return io.EOF
	}
	if err == nil {
		r.started = time.Now()
	}
	return err
}

// attempt opens the stream and waits for its first message.
func (r *retryStream) attempt(ctx context.Context, limit time.Duration, message any) error {
	ctx, r.close = context.WithCancel(ctx)
	timer := time.AfterFunc(limit, r.close)
	err := r.receive(ctx, message)
	inTime := timer.Stop()
	if err == nil && inTime {
		return nil
	}
	r.close()
	if !inTime {
		return status.Error(codes.DeadlineExceeded, context.DeadlineExceeded.Error())
	}
	return err
}

func (r *retryStream) receive(ctx context.Context, message any) (err error) {
	if r.stream, err = r.open(ctx); err != nil {
		return err
	}
	if err := r.stream.SendMsg(r.request); err != nil && !errors.Is(err, io.EOF) { // RecvMsg returns the cause of io.EOF
		return err
	}
	if err := r.stream.CloseSend(); err != nil {
		return err
	}
	return r.stream.RecvMsg(message)
}

// brokenError is the failure of a stream after its first message.
type brokenError struct {
	waits *waitReporter
	after time.Duration // duration since the first message
	err   error
}

// Error implements error.
func (e *brokenError) Error() string { return e.err.Error() }

// GRPCStatus returns the status of the failure.
func (e *brokenError) GRPCStatus() *status.Status { return status.Convert(e.err) }

// Follow calls handle with every message of a server stream, until its end or an error of handle.
// It reopens a client's broken stream: it calls restart, which may be nil, and then handle from the
// first message on. The error is that of handle, or that of a stream that keeps breaking for as
// long as the client waits.
func Follow[T any](ctx context.Context, open func(context.Context) (grpc.ServerStreamingClient[T], error), restart func(), handle func(*T) error) error {
	var since time.Time // when the first failure occurred
	for {
		err, handled := follow(ctx, open, handle)
		if handled != nil {
			return handled
		}
		broken, ok := errors.AsType[*brokenError](err)
		if !ok || ctx.Err() != nil {
			return err
		}
		if since.IsZero() || broken.after >= stableAfter {
			since = time.Now()
		}
		if !broken.shouldReopen(ctx, since) {
			return err
		}
		if restart != nil {
			restart()
		}
	}
}

// shouldReopen waits before the stream is reopened. It returns false if the failures last longer
// than the client waits.
func (e *brokenError) shouldReopen(ctx context.Context, since time.Time) bool {
	lasts := time.Since(since)
	if lasts >= e.waits.maxWait {
		return false
	}
	if lasts >= noticeAfter {
		e.waits.log(since, func(attributes []any) {
			e.waits.logger.Warn("service broke off its answer, retrying", append(attributes, "reason", e.GRPCStatus().Message())...)
		})
	}
	return pause.For(ctx, initialBackoff)
}

// follow reads one stream. broken is the stream's error, handled that of handle.
func follow[T any](
	ctx context.Context, open func(context.Context) (grpc.ServerStreamingClient[T], error), handle func(*T) error,
) (broken, handled error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := open(ctx)
	if err != nil {
		return err, nil
	}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return err, nil
		}
		if err := handle(message); err != nil {
			return nil, err
		}
	}
}
