package rpc

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// NewStream implements grpc.ClientConnInterface, for streams of responses to one request. The
// handler runs in another goroutine. A caller reads the stream to its end or cancels ctx. A handler
// cannot set headers here, and sees no peer.
func (h *memoryServer) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	if err := checkOptions(options); err != nil {
		return nil, err
	}
	m, ok := h.methods[method]
	if !ok || m.stream == nil || desc.ClientStreams {
		return nil, status.Errorf(codes.Unimplemented, "method %s not implemented", method)
	}
	bounded, leave, err := h.enter(ctx)
	if err != nil {
		return nil, err
	}
	p := &pipe{copier: h.copier, request: make(chan proto.Message, 1), responses: make(chan proto.Message), ended: make(chan struct{})}
	h.goroutines.run(func() {
		defer leave()
		defer close(p.ended)
		p.err = h.stream(bounded, m, p)
	})
	return clientStream{side{p, ctx}}, nil
}

// stream runs a handler with the server's side of a stream.
func (h *memoryServer) stream(ctx context.Context, m registered, p *pipe) error {
	return h.callError(h.guard.stream(m.service, serverStream{side{p, ctx}}, nil, m.stream))
}

// pipe connects the sides of a stream. It copies messages when they are sent, for the receiver.
type pipe struct {
	copier    copier
	request   chan proto.Message // one
	responses chan proto.Message
	ended     chan struct{} // closed after the handler has returned
	err       error         // its error; written before ended is closed
}

// side is one side of a pipe.
type side struct {
	*pipe
	ctx context.Context
}

// Context implements grpc.ClientStream and grpc.ServerStream.
func (s side) Context() context.Context { return s.ctx }

// clientStream is the caller's side of a stream.
type clientStream struct{ side }

// Header implements grpc.ClientStream.
func (s clientStream) Header() (metadata.MD, error) { return nil, nil }

// Trailer implements grpc.ClientStream.
func (s clientStream) Trailer() metadata.MD { return nil }

// CloseSend implements grpc.ClientStream.
func (s clientStream) CloseSend() error { return nil }

// SendMsg implements grpc.ClientStream. The pipe has room for the request.
func (s clientStream) SendMsg(message any) error {
	sent, err := s.copier.Clone(message, false)
	if err != nil {
		return err
	}
	s.request <- sent
	return nil
}

// RecvMsg implements grpc.ClientStream.
func (s clientStream) RecvMsg(message any) error {
	select {
	case response := <-s.responses:
		return s.copier.Copy(message, response, true)
	case <-s.ended:
		if s.err != nil {
			return s.err
		}
		return io.EOF
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// serverStream is the handler's side of a stream.
type serverStream struct{ side }

// SetHeader implements grpc.ServerStream.
func (s serverStream) SetHeader(metadata.MD) error {
	return status.Error(codes.Internal, "a stream in one process has no headers")
}

// SendHeader implements grpc.ServerStream.
func (s serverStream) SendHeader(header metadata.MD) error { return s.SetHeader(header) }

// SetTrailer implements grpc.ServerStream. A stream in one process has no trailer.
func (s serverStream) SetTrailer(metadata.MD) {}

// SendMsg implements grpc.ServerStream.
func (s serverStream) SendMsg(message any) error {
	sent, err := s.copier.Clone(message, false)
	if err != nil {
		return err
	}
	select {
	case s.responses <- sent:
		return nil
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// RecvMsg implements grpc.ServerStream.
func (s serverStream) RecvMsg(message any) error {
	select {
	case request := <-s.request:
		return s.copier.Copy(message, request, true)
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}
