package mesh

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (m *Mesh) explainUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	answer, err := handler(ctx, req)
	return answer, m.explain(err)
}

func (m *Mesh) explainStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return m.explain(handler(srv, stream))
}

// explain adds to what a call failed with that NATS is away, where that may be why: then it may be
// repeated.
func (m *Mesh) explain(err error) error {
	if err == nil || m.nats == nil || m.nats.IsConnected() {
		return err
	}
	failed, ok := status.FromError(err)
	if !ok {
		failed = status.FromContextError(err)
	}
	switch failed.Code() {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Unknown:
	default:
		return err
	}
	stated := failed.Proto()
	stated.Code = int32(codes.Unavailable)
	stated.Message += fmt.Sprintf(": NATS at %s cannot be reached from there", redact(m.cfg.NATSURL))
	return status.FromProto(stated).Err()
}
