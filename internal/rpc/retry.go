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
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	// tryLimit bounds one try of a call without a deadline. It is longer than a service waits for
	// its NATS, so that the service can say what it waits for. A try that takes it whole is
	// followed by one that may take twice as long.
	tryLimit = time.Minute
	// firstPause and maxPause are the pauses between two tries; the first one doubles.
	firstPause = 100 * time.Millisecond
	maxPause   = time.Second
	// unlimited is longer than any call.
	unlimited = time.Duration(math.MaxInt64)
	// maxTries bounds the tries of a service's call, which its caller repeats.
	maxTries = 5
	// steady is how long a stream lasts that has not just broken again.
	steady = time.Minute
)

// attemptsHeader is set on a call that is made again, to the number of earlier tries. It is the
// header that gRPC's own retries have.
const attemptsHeader = "grpc-previous-rpc-attempts"

// Repeated reports whether the call that a handler serves was made before: what it asks for may be
// done.
func Repeated(ctx context.Context) bool {
	return len(metadata.ValueFromIncomingContext(ctx, attemptsHeader)) > 0
}

// again reports whether a client's call that failed so may be answered when it is repeated: all
// calls of the services may be.
func again(code codes.Code) bool {
	return code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.Canceled
}

// repeat tries a call until it is answered or may not be repeated: a client's for as long as its
// patience lasts, a service's a few times. try gets the longest time that it may take.
func (c *call) repeat(ctx context.Context, try func(ctx context.Context, limit time.Duration) error) error {
	limit, wait := tryLimit, firstPause
	for tries := 1; ; tries++ {
		longest := limit
		if !c.deadline.IsZero() {
			longest = min(limit, time.Until(c.deadline))
		}
		attempt := ctx
		if tries > 1 {
			attempt = metadata.AppendToOutgoingContext(ctx, attemptsHeader, strconv.Itoa(tries-1))
		}
		err := try(attempt, longest)
		if err == nil {
			return nil
		}
		code := status.Code(err)
		if code == codes.Unavailable {
			c.failed(err)
		}
		if !c.mayRepeat(code, tries) || !c.deadline.IsZero() && time.Until(c.deadline) <= wait || !pause(ctx, wait) {
			return err
		}
		if code == codes.DeadlineExceeded {
			limit *= 2
		}
		wait = min(2*wait, maxPause)
	}
}

func (c *call) mayRepeat(code codes.Code, tries int) bool {
	if c.waits.patience > 0 {
		return again(code)
	}
	return code == codes.Unavailable && tries < maxTries
}

// pause waits; false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// reading is a server stream. It is opened again, as a call is repeated, until something has come
// on it. When it breaks after that, it is broken.
type reading struct {
	waits *waits
	conn  connection
	ctx   context.Context
	open  func(ctx context.Context) (grpc.ClientStream, error)

	request any
	stream  grpc.ClientStream // nil before the first try
	close   context.CancelFunc
	begun   time.Time // when something had come; zero before
}

// SendMsg implements grpc.ClientStream: the one request goes with each try.
func (r *reading) SendMsg(request any) error {
	r.request = request
	return nil
}

// CloseSend implements grpc.ClientStream.
func (r *reading) CloseSend() error { return nil }

// Context implements grpc.ClientStream.
func (r *reading) Context() context.Context { return r.ctx }

// Header implements grpc.ClientStream; there is none before something has come.
func (r *reading) Header() (metadata.MD, error) {
	if r.stream == nil {
		return nil, nil
	}
	return r.stream.Header()
}

// Trailer implements grpc.ClientStream.
func (r *reading) Trailer() metadata.MD {
	if r.stream == nil {
		return nil
	}
	return r.stream.Trailer()
}

// RecvMsg implements grpc.ClientStream.
func (r *reading) RecvMsg(message any) error {
	if r.begun.IsZero() {
		return r.first(message)
	}
	err := r.stream.RecvMsg(message)
	if err != nil {
		r.close()
	}
	if r.ctx.Err() == nil && again(status.Code(err)) {
		return &brokenError{waits: r.waits, after: time.Since(r.begun), err: err}
	}
	return err
}

// first waits for the first message or the end of an empty stream.
func (r *reading) first(message any) error {
	c := r.waits.begin(r.ctx, r.conn)
	empty := false
	err := c.end(c.repeat(r.ctx, func(ctx context.Context, limit time.Duration) error {
		if r.waits.patience == 0 {
			limit = unlimited // a service reads for as long as its caller lets it
		}
		err := r.try(ctx, limit, message)
		if empty = errors.Is(err, io.EOF); empty {
			return nil
		}
		return err
	}))
	if empty {
		return io.EOF
	}
	if err == nil {
		r.begun = time.Now()
	}
	return err
}

// try opens the stream and waits for what comes first.
func (r *reading) try(ctx context.Context, limit time.Duration, message any) error {
	ctx, r.close = context.WithCancel(ctx)
	late := time.AfterFunc(limit, r.close)
	err := r.receive(ctx, message)
	inTime := late.Stop()
	if err == nil && inTime {
		return nil
	}
	r.close()
	if !inTime {
		return status.Error(codes.DeadlineExceeded, context.DeadlineExceeded.Error())
	}
	return err
}

func (r *reading) receive(ctx context.Context, message any) (err error) {
	if r.stream, err = r.open(ctx); err != nil {
		return err
	}
	if err := r.stream.SendMsg(r.request); err != nil && !errors.Is(err, io.EOF) { // of the end RecvMsg tells more
		return err
	}
	if err := r.stream.CloseSend(); err != nil {
		return err
	}
	return r.stream.RecvMsg(message)
}

// brokenError says that a stream broke after something had come on it.
type brokenError struct {
	waits *waits
	after time.Duration // that something had come
	err   error
}

// Error implements error.
func (e *brokenError) Error() string { return e.err.Error() }

// GRPCStatus keeps the code.
func (e *brokenError) GRPCStatus() *status.Status { return status.Convert(e.err) }

// Follow calls handle with every message of a server stream, to its end or to an error of handle. A
// client's stream that breaks is opened again: restart, which may be nil, is called, and then
// handle with its messages from the first one on. The error is that of handle or that of the
// stream, if it breaks again and again for as long as the client waits.
func Follow[T any](ctx context.Context, open func(context.Context) (grpc.ServerStreamingClient[T], error), restart func(), handle func(*T) error) error {
	var since time.Time // when the trouble began
	for {
		err, handled := follow(ctx, open, handle)
		if handled != nil {
			return handled
		}
		broken, ok := errors.AsType[*brokenError](err)
		if !ok || ctx.Err() != nil {
			return err
		}
		if since.IsZero() || broken.after >= steady {
			since = time.Now()
		}
		if !broken.goesOn(ctx, since) {
			return err
		}
		if restart != nil {
			restart()
		}
	}
}

// goesOn waits a moment before the stream is opened again. It says no when the trouble lasts for
// longer than the client waits.
func (e *brokenError) goesOn(ctx context.Context, since time.Time) bool {
	lasts := time.Since(since)
	if lasts >= e.waits.patience {
		return false
	}
	if lasts >= noticeAfter {
		e.waits.tell(since, func(attributes []any) {
			e.waits.logger.Warn("service broke off its answer, retrying", append(attributes, "reason", e.GRPCStatus().Message())...)
		})
	}
	return pause(ctx, firstPause)
}

// follow reads one stream. It returns the error of the stream or that of handle.
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
