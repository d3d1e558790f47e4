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
	st, ok := status.FromError(err)
	if !ok {
		st = status.FromContextError(err)
	}
	if n.nats == nil || n.nats.IsConnected() {
		return st.Err()
	}
	switch st.Code() {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Unknown:
	default:
		return st.Err()
	}
	detailed := st.Proto()
	detailed.Code = int32(codes.Unavailable)
	detailed.Message += fmt.Sprintf(": NATS at %s cannot be reached from there", redact(n.cfg.NATSURL))
	return status.FromProto(detailed).Err()
}
