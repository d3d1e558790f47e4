package rpc

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// explain returns the gRPC status of a failed call. It adds that NATS is unreachable if that may be
// the cause; the call is retryable then.
func (n *Node) explain(err error) error {
	if err == nil {
		return nil
	}
	failed, ok := status.FromError(err)
	if !ok {
		failed = status.FromContextError(err)
	}
	if n.nats == nil || n.nats.IsConnected() {
		return failed.Err()
	}
	switch failed.Code() {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Unknown:
	default:
		return failed.Err()
	}
	stated := failed.Proto()
	stated.Code = int32(codes.Unavailable)
	stated.Message += fmt.Sprintf(": NATS at %s cannot be reached from there", redact(n.cfg.NATSURL))
	return status.FromProto(stated).Err()
}
