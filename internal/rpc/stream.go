package rpc

import (
	"context"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// NewStream implements grpc.ClientConnInterface. The handler runs in another goroutine. A caller
// reads the stream to its end or cancels ctx. A handler cannot set headers here, and sees no peer.
func (h *memoryServer) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	if err := checkOptions(options); err != nil {
		return nil, err
	}
	m, ok := h.methods[method]
	if !ok || m.stream == nil {
		return nil, status.Errorf(codes.Unimplemented, "method %s not implemented", method)
	}
	if h.client.handler != nil {
		ctx = h.client.begin(ctx, method)
	}
	start := time.Now()
	bounded, leave, err := h.enter(ctx)
	if err != nil {
		return nil, err
	}
	p := &pipe{copier: h.copier, requests: make(chan any, 1), responses: make(chan any), ended: make(chan struct{})}
	h.goroutines.run(func() {
		defer leave()
		defer close(p.ended)
		p.err = h.stream(bounded, method, m, p)
		if h.client.handler != nil {
			h.client.end(ctx, start, p.err)
		}
	})
	return &clientStream{pipe: p, ctx: ctx, many: desc.ClientStreams, closeSend: sync.OnceFunc(func() { close(p.requests) })}, nil
}

// stream runs a handler with the server's side of a stream.
func (h *memoryServer) stream(ctx context.Context, method string, m registered, p *pipe) (err error) {
	if h.server.handler != nil {
		ctx = h.server.begin(ctx, method)
		defer func(start time.Time) { h.server.end(ctx, start, err) }(time.Now())
	}
	return h.callError(h.guard.stream(m.service, &serverStream{pipe: p, ctx: ctx}, nil, m.stream))
}

// pipe connects the sides of a stream. Messages are copied when they are sent and when they are
// received.
type pipe struct {
	copier              copier
	requests, responses chan any
	ended               chan struct{} // closed after the handler has returned
	err                 error         // its error; written before ended is closed
}

// clientStream is the caller's side of a stream.
type clientStream struct {
	*pipe
	ctx       context.Context
	many      bool // requests
	closeSend func()
}

// Header implements grpc.ClientStream.
func (s *clientStream) Header() (metadata.MD, error) { return nil, nil }

// Trailer implements grpc.ClientStream.
func (s *clientStream) Trailer() metadata.MD { return nil }

// Context implements grpc.ClientStream.
func (s *clientStream) Context() context.Context { return s.ctx }

// CloseSend implements grpc.ClientStream.
func (s *clientStream) CloseSend() error {
	s.closeSend()
	return nil
}

// SendMsg implements grpc.ClientStream. If the handler has returned, RecvMsg returns its error, and
// as over TCP this is no error of a single request.
func (s *clientStream) SendMsg(message any) error {
	copied, err := s.copier.Clone(message)
	if err != nil {
		return err
	}
	select {
	case s.requests <- copied:
		return nil
	case <-s.ended:
		if s.many {
			return io.EOF
		}
		return nil
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// RecvMsg implements grpc.ClientStream.
func (s *clientStream) RecvMsg(message any) error {
	select {
	case response := <-s.responses:
		return s.copier.Copy(message, response)
	case <-s.ended:
		return s.outcome()
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// outcome returns the error of a stream whose handler has returned, io.EOF for none.
func (s *clientStream) outcome() error {
	if s.err != nil {
		return s.err
	}
	return io.EOF
}

// serverStream is the handler's side of a stream.
type serverStream struct {
	*pipe
	ctx context.Context
}

// SetHeader implements grpc.ServerStream.
func (s *serverStream) SetHeader(metadata.MD) error {
	return status.Error(codes.Internal, "a stream in one process has no headers")
}

// SendHeader implements grpc.ServerStream.
func (s *serverStream) SendHeader(header metadata.MD) error { return s.SetHeader(header) }

// SetTrailer implements grpc.ServerStream. A stream in one process has no trailer.
func (s *serverStream) SetTrailer(metadata.MD) {}

// Context implements grpc.ServerStream.
func (s *serverStream) Context() context.Context { return s.ctx }

// SendMsg implements grpc.ServerStream.
func (s *serverStream) SendMsg(message any) error {
	copied, err := s.copier.Clone(message)
	if err != nil {
		return err
	}
	select {
	case s.responses <- copied:
		return nil
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// RecvMsg implements grpc.ServerStream.
func (s *serverStream) RecvMsg(message any) error {
	select {
	case request, ok := <-s.requests:
		if !ok {
			return io.EOF
		}
		return s.copier.Copy(message, request)
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}
