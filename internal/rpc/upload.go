package rpc

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
)

// admission is which of a method's requests wait for others.
type admission int

const (
	// whole: requests take whole documents of a user. They wait unread until others are handled.
	whole admission = iota + 1
	// short: requests wait unread until others are read, and large ones until others are handled.
	short
	// waiting: the same, but the handler waits for a player, so that large requests are handled at
	// once. A rollout has one at a time.
	waiting
	// reading: responses may be as large as a rollout. A team has teamReads of a method at once.
	reading
)

// teamReads is the number of concurrent calls of a team to a method that reads whole rollouts.
const teamReads = 8

// admissions are those of the methods that get large requests, or send large responses. Requests of
// others do not wait.
var admissions = map[string]admission{
	"/toolsandbox.agentgw.v1.AgentGatewayService/Respond":           waiting,
	"/toolsandbox.evaluator.v1.EvaluatorService/PutEvaluations":     whole,
	"/toolsandbox.evaluator.v1.EvaluatorService/ScoreTrajectory":    whole,
	"/toolsandbox.evaluator.v1.EvaluatorService/ExplainTrajectory":  whole,
	"/toolsandbox.orchestrator.v1.OrchestratorService/CreateSweep":  whole,
	"/toolsandbox.orchestrator.v1.OrchestratorService/PutRecording": whole,

	"/toolsandbox.orchestrator.v1.OrchestratorService/GetRecording":  reading,
	"/toolsandbox.orchestrator.v1.OrchestratorService/GetTrajectory": reading,

	"/toolsandbox.toolhost.v1.ToolHostService/CreateSession": short,
	"/toolsandbox.toolhost.v1.ToolHostService/Execute":       short,
	"/toolsandbox.toolhost.v1.ToolHostService/TryTools":      whole,
}

// largeRequest is the size, in bytes, from which on a request is large.
const largeRequest = 1 << 20

// requestLimits are the largest requests, in bytes, of types that take up many times their size
// when they are decoded. Others may be as large as --max-message-bytes.
var requestLimits = map[string]int{
	"toolsandbox.evaluator.v1.PutEvaluationsRequest": 16 << 20,
}

// The maximum numbers of parts of a large request, see countParts, and of one with all table
// versions of a rollout.
const (
	maxParts           = 1 << 20
	maxTrajectoryParts = 8 << 20
)

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

// checkParts returns the error of an encoded message with too many parts.
func checkParts(m proto.Message, data []byte) error {
	most := maxParts
	switch m.(type) {
	case *evaluatorv1.ScoreTrajectoryRequest, *evaluatorv1.ExplainTrajectoryRequest:
		most = maxTrajectoryParts
	}
	d := m.ProtoReflect().Descriptor()
	if countParts(d, data, most) > most {
		return status.Errorf(codes.ResourceExhausted, "%s has more than %d messages and texts", d.FullName(), most)
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
	m, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v) // gRPC wraps it
	}
	err := checkSize(m, data.Len(), c.limit)
	if err == nil && data.Len() >= largeRequest {
		whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer whole.Free()
		data = mem.BufferSlice{whole}
		err = checkParts(m, whole.ReadOnlyData())
	}
	if err != nil {
		c.refused.Store(v, err)
		return nil
	}
	return c.CodecV2.Unmarshal(data, v) // gRPC wraps it
}

// requestGate bounds the memory of requests. At most one per processor, and at least two, are read
// and decoded at once, and as many large ones are handled at once; further ones wait unread. One
// slot is always left to other teams. It is a stats.Handler because gRPC begins a call before it
// reads the request.
type requestGate struct {
	reading, large chan struct{}
	uploads, reads *teamSlots
}

func newRequestGate() requestGate {
	slots := max(2, runtime.GOMAXPROCS(0))
	return requestGate{make(chan struct{}, slots), make(chan struct{}, slots), newTeamSlots(slots - 1), newTeamSlots(teamReads)}
}

// callKey is the key of a call's slots in its context.
type callKey struct{}

// callSlots are the slots that a call holds. gRPC reports the events of a unary call one after
// another.
type callSlots struct {
	method    string
	admission admission
	held      []chan struct{}
}

// take waits for a slot, if there are any. A call that ends meanwhile gets none.
func (c *callSlots) take(ctx context.Context, slots chan struct{}) {
	if slots == nil {
		return
	}
	select {
	case slots <- struct{}{}:
		c.held = append(c.held, slots)
	case <-ctx.Done():
	}
}

func (c *callSlots) release(slots chan struct{}) {
	if i := slices.Index(c.held, slots); i >= 0 {
		c.held = slices.Delete(c.held, i, i+1)
		<-slots
	}
}

// TagRPC implements stats.Handler.
func (requestGate) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if a, ok := admissions[info.FullMethodName]; ok {
		return context.WithValue(ctx, callKey{}, &callSlots{method: info.FullMethodName, admission: a})
	}
	return ctx
}

// HandleRPC implements stats.Handler.
func (g requestGate) HandleRPC(ctx context.Context, event stats.RPCStats) {
	c, ok := ctx.Value(callKey{}).(*callSlots)
	if !ok {
		return
	}
	switch event := event.(type) {
	case *stats.Begin:
		switch c.admission {
		case whole:
			c.take(ctx, g.uploads.of(ctx, ""))
			c.take(ctx, g.large)
		case reading:
			c.take(ctx, g.reads.of(ctx, c.method))
		default:
			c.take(ctx, g.reading)
		}
	case *stats.InPayload:
		if c.admission == short && event.Length >= largeRequest {
			c.take(ctx, g.large)
		}
		c.release(g.reading)
	case *stats.End:
		for len(c.held) > 0 {
			c.release(c.held[0])
		}
	}
}

// TagConn implements stats.Handler.
func (requestGate) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (requestGate) HandleConn(context.Context, stats.ConnStats) {}

// receiveOptions are the options that bound what a server receives.
func (g *guard) receiveOptions(limit int) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(limit), grpc.ForceServerCodecV2(newRequestCodec(limit, &g.refused)), grpc.StatsHandler(newRequestGate()),
	}
}
