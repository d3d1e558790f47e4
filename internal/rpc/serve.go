package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	keepaliveTime    = 30 * time.Second
	keepaliveTimeout = 10 * time.Second
	keepaliveMinimum = 10 * time.Second
	// connectionAge is how long a connection accepts new calls. The next call resolves the name again,
	// at most once per resolutionInterval, so that both bound the time to find a new replica.
	connectionAge      = 15 * time.Second
	resolutionInterval = 2 * time.Second
	dialBaseDelay      = 50 * time.Millisecond
	dialMaxDelay       = time.Second
)

// serviceConfig makes calls wait for a connection. waitReporter retries failed calls.
const serviceConfig = `{
  "loadBalancingConfig": [{"round_robin": {}}],
  "methodConfig": [{"name": [{}], "waitForReady": true}]
}`

// Serve serves one service of this process until ctx is done, then drains running calls. It
// validates every request with protovalidate, and bounds message sizes.
func (n *Node) Serve(ctx context.Context, s Service, register func(grpc.ServiceRegistrar)) error {
	srv, err := n.transport.open(s, &guard{explain: n.explain})
	if err != nil {
		return err
	}
	register(srv)
	if reflected, ok := srv.(reflection.GRPCServer); ok && n.cfg.Reflection { // the memory transport has no reflection
		reflection.Register(reflected)
	}
	work, stop := n.Drain(ctx)
	defer stop()
	leave, err := n.joinHosts(work, s, srv) // calls wait until the server accepts them
	if err != nil {
		srv.Stop()
		srv.GracefulStop()
		_ = srv.Serve() // closes the listener
		if ctx.Err() != nil {
			return nil // stopped before it could join
		}
		return err
	}
	serveErr := make(chan error, 1)
	go func() { serveErr <- srv.Serve() }()
	n.Logger(s).Info("serving", "address", srv.Address())
	n.serving.Store(true)
	defer n.serving.Store(false)
	select {
	case err := <-serveErr:
		leave(work)
		return fmt.Errorf("%s: serve: %w", s, err)
	case <-ctx.Done():
	}
	n.serving.Store(false)
	leave(work)
	defer context.AfterFunc(work, srv.Stop)()
	srv.GracefulStop()
	if err := <-serveErr; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("%s: serve: %w", s, err)
	}
	return nil
}

// guard validates requests and explains errors of every call.
type guard struct {
	// explain adds the cause to the error of a call.
	explain func(error) error
	// refused holds the errors of requests that were too large to decode.
	refused sync.Map
	// streams counts the open streams of teams.
	streams teamStreams
}

func (g *guard) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := g.validate(request); err != nil {
		return nil, err
	}
	response, err := handler(ctx, request)
	return response, g.explain(err)
}

func (g *guard) stream(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	end, err := g.streams.begin(stream.Context())
	if err != nil {
		return err
	}
	defer end()
	return g.explain(handler(service, &validatedStream{ServerStream: stream, guard: g}))
}

// validatedStream validates every received message.
type validatedStream struct {
	grpc.ServerStream
	guard *guard
}

// RecvMsg implements grpc.ServerStream.
func (s *validatedStream) RecvMsg(message any) error {
	if err := s.ServerStream.RecvMsg(message); err != nil {
		return err
	}
	return s.guard.validate(message)
}

func (g *guard) validate(request any) error {
	if refusal, ok := g.refused.LoadAndDelete(request); ok {
		err, _ := refusal.(error) // requestCodec stores nothing else
		return err
	}
	message, ok := request.(proto.Message)
	if !ok || satisfiesRules(message) {
		return nil
	}
	if err := protovalidate.Validate(message); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}

// satisfiesRules reports whether a request is certainly valid, by code that is generated from its
// rules. protovalidate takes twenty times as long.
func satisfiesRules(request proto.Message) bool {
	checked, ok := request.(interface{ SatisfiesRules() bool })
	return ok && checked.SatisfiesRules()
}
