package rpc

import (
	"context"
	"runtime"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// uploadMethods are the methods that take whole documents of a user. A process receives, decodes
// and handles few of their requests at once, see uploadGate; further ones wait unread.
var uploadMethods = map[string]bool{
	"/toolsandbox.evaluator.v1.EvaluatorService/PutEvaluations":     true,
	"/toolsandbox.evaluator.v1.EvaluatorService/ScoreTrajectory":    true,
	"/toolsandbox.evaluator.v1.EvaluatorService/ExplainTrajectory":  true,
	"/toolsandbox.orchestrator.v1.OrchestratorService/CreateSweep":  true,
	"/toolsandbox.orchestrator.v1.OrchestratorService/PutRecording": true,
	"/toolsandbox.toolhost.v1.ToolHostService/TryTools":             true,
}

// requestLimits are the largest requests, in bytes, of types that take up many times their size
// when they are decoded. Others may be as large as --max-message-bytes.
var requestLimits = map[string]int{
	"toolsandbox.evaluator.v1.PutEvaluationsRequest": 16 << 20,
}

// checkSize returns the error of a message with more bytes than its type or --max-message-bytes
// allows.
func checkSize(m proto.Message, size, limit int) error {
	name := string(m.ProtoReflect().Descriptor().FullName())
	if own, ok := requestLimits[name]; ok && size > own && own < limit {
		return status.Errorf(codes.ResourceExhausted, "%s has %d bytes, expected at most %d: send it in parts", name, size, own)
	}
	if size > limit {
		return status.Errorf(codes.ResourceExhausted, "%s has %d bytes, expected at most %d (--max-message-bytes)", name, size, limit)
	}
	return nil
}

// requestCodec decodes requests of a server. It leaves one that is too large empty, for the guard
// to refuse: an error of a codec would be an internal one.
type requestCodec struct {
	encoding.CodecV2

	limit   int
	refused *sync.Map // errors by message
}

func newRequestCodec(limit int, refused *sync.Map) requestCodec {
	return requestCodec{encoding.GetCodecV2(grpcproto.Name), limit, refused}
}

// Unmarshal implements encoding.CodecV2.
func (c requestCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(proto.Message); ok {
		if err := checkSize(m, data.Len(), c.limit); err != nil {
			c.refused.Store(v, err)
			return nil
		}
	}
	return c.CodecV2.Unmarshal(data, v) //nolint:wrapcheck // gRPC wraps it
}

// uploadGate bounds the memory of uploads: at most one per processor, and at least two, are
// received and handled at once. It is a stats.Handler because gRPC begins a call before it reads
// the request.
type uploadGate struct{ slots chan struct{} }

func newUploadGate() uploadGate {
	return uploadGate{make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))}
}

// uploadKey is the key of a call's upload in its context.
type uploadKey struct{}

// upload is whether a call has a slot.
type upload struct{ admitted bool }

// TagRPC implements stats.Handler.
func (uploadGate) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if uploadMethods[info.FullMethodName] {
		return context.WithValue(ctx, uploadKey{}, new(upload))
	}
	return ctx
}

// HandleRPC implements stats.Handler. A call that ends while it waits gets no slot.
func (g uploadGate) HandleRPC(ctx context.Context, event stats.RPCStats) {
	u, ok := ctx.Value(uploadKey{}).(*upload)
	if !ok {
		return
	}
	switch event.(type) {
	case *stats.Begin:
		select {
		case g.slots <- struct{}{}:
			u.admitted = true
		case <-ctx.Done():
		}
	case *stats.End:
		if u.admitted {
			<-g.slots
		}
	}
}

// TagConn implements stats.Handler.
func (uploadGate) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (uploadGate) HandleConn(context.Context, stats.ConnStats) {}

// receiveOptions are the options that bound what a server receives.
func (g *guard) receiveOptions(limit int) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(limit), grpc.ForceServerCodecV2(newRequestCodec(limit, &g.refused)), grpc.StatsHandler(newUploadGate()),
	}
}
