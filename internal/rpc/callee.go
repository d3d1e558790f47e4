package rpc

import (
	"context"

	"google.golang.org/grpc"
)

// callee is a service as its callers reach it: it waits, retries, and chooses a connection for each
// attempt. Safe for concurrent use.
type callee struct {
	waits *waitReporter
	route route
}

// route chooses the connection of an attempt.
type route interface {
	connection
	// use calls try with the connection. The context of try may end before ctx.
	use(ctx context.Context, try func(ctx context.Context, conn grpc.ClientConnInterface) error) error
}

// Invoke implements grpc.ClientConnInterface.
func (p *callee) Invoke(ctx context.Context, method string, request, response any, opts ...grpc.CallOption) error {
	return p.waits.invoke(ctx, p.route, func(ctx context.Context) error {
		return p.route.use(ctx, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			return p.waits.unary(opts, func(opts []grpc.CallOption) error { return conn.Invoke(ctx, method, request, response, opts...) })
		})
	})
}

// NewStream implements grpc.ClientConnInterface.
func (p *callee) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return p.waits.open(ctx, p.route, desc, func(ctx context.Context) (stream grpc.ClientStream, err error) {
		err = p.route.use(ctx, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			if stream, err = conn.NewStream(ctx, desc, method, p.waits.options(opts)...); err == nil {
				p.waits.connected.Store(true) // it has a connection
			}
			return err
		})
		return stream, err
	})
}

// direct is the route to a service with one connection.
type direct struct{ conn }

// use implements route.
func (d direct) use(ctx context.Context, try func(context.Context, grpc.ClientConnInterface) error) error {
	return try(ctx, d.conn)
}
