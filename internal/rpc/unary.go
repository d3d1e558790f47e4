package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// registered is the handler of a unary call or a stream, and its service.
type registered struct {
	service any
	unary   grpc.MethodHandler
	stream  grpc.StreamHandler
	// sharesRequest and sharesResponse are set if these are immutable.
	sharesRequest, sharesResponse bool
}

// RegisterService implements grpc.ServiceRegistrar.
func (h *memoryServer) RegisterService(desc *grpc.ServiceDesc, service any) {
	for _, m := range desc.Methods {
		r := registered{service: service, unary: m.Handler}
		r.sharesRequest, r.sharesResponse = immutable(desc.ServiceName, m.MethodName)
		h.methods["/"+desc.ServiceName+"/"+m.MethodName] = r
	}
	for _, m := range desc.Streams {
		h.methods["/"+desc.ServiceName+"/"+m.StreamName] = registered{service: service, stream: m.Handler}
	}
}

// checkOptions rejects options that a call in one process does not obey.
func checkOptions(options []grpc.CallOption) error {
	for _, option := range options {
		switch option.(type) {
		case grpc.HeaderCallOption, grpc.TrailerCallOption, grpc.PeerCallOption, grpc.MaxRecvMsgSizeCallOption, grpc.MaxSendMsgSizeCallOption, grpc.PerRPCCredsCallOption:
			return status.Errorf(codes.Internal, "option %T has no effect on a call in one process", option)
		}
	}
	return nil
}

// Invoke implements grpc.ClientConnInterface. The handler runs in another goroutine, so that the
// caller is free as soon as its ctx ends. A handler cannot set headers here, and sees no peer.
func (h *memoryServer) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	if err := checkOptions(options); err != nil {
		return err
	}
	m, ok := h.methods[method]
	if !ok || m.unary == nil {
		return status.Errorf(codes.Unimplemented, "method %s not implemented", method)
	}
	sent, err := h.copier.Clone(request, m.sharesRequest)
	if err != nil {
		return err
	}
	if m.sharesRequest {
		h.witness.see(sent)
	}
	bounded, leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	var answer proto.Message
	var failure error
	answered := make(chan struct{})
	h.goroutines.run(func() {
		defer leave()
		answer, failure = h.handle(bounded, method, m, sent)
		close(answered)
	})
	select {
	case <-answered:
		if failure != nil {
			return failure
		}
		return h.copier.Copy(response, answer, m.sharesResponse)
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// handle runs a handler.
func (h *memoryServer) handle(ctx context.Context, method string, m registered, request any) (proto.Message, error) {
	decode := func(any) error { return nil } // the interceptor has the request
	answered, err := m.unary(m.service, ctx, decode, func(ctx context.Context, _ any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		return h.guard.unary(ctx, request, info, handler)
	})
	if err != nil {
		return nil, h.callError(err)
	}
	response, ok := answered.(proto.Message)
	if !ok || !response.ProtoReflect().IsValid() {
		return nil, status.Errorf(codes.Internal, "%s: neither an answer nor an error", method)
	}
	if m.sharesResponse {
		h.witness.see(response)
	}
	return response, nil
}

// handlerContext ends with the caller's context and has none of its values.
type handlerContext struct{ context.Context }

// Value implements context.Context.
func (handlerContext) Value(any) any { return nil }

// AfterFunc lets derived contexts end with the caller's context without a goroutine each.
func (c handlerContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.Context, f)
}
