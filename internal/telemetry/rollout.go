package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// TraceparentHeader is the name of the W3C header, of the key of gRPC metadata and of the field of
// an MCP request's _meta.
const TraceparentHeader = "traceparent"

// Root describes the root span of a trace.
type Root struct {
	// Name is the span's name. It names no scenario and no id, so that there are few.
	Name       string
	Start, End time.Time
	Attributes []attribute.KeyValue
	Events     []Event
	// Links are the roots of related traces.
	Links []trace.SpanContext
	// Failure is the class of the error that ended the operation. Empty if it succeeded.
	Failure string
}

// Event is something that happened within a span.
type Event struct {
	Name       string
	At         time.Time
	Attributes []attribute.KeyValue
}

// RolloutSpan returns the root span of a rollout in a round of its sweep. Trace id and span id are
// the first 24 bytes of the SHA-256 of the rollout's id, followed by "." and the round from round 1
// on.
func RolloutSpan(rolloutID string, round int32) trace.SpanContext {
	if round > 0 {
		rolloutID += "." + strconv.Itoa(int(round))
	}
	return spanOf(rolloutID)
}

// SweepSpan returns the root span of a round of a sweep.
func SweepSpan(sweepID string, round int32) trace.SpanContext {
	return spanOf("sweep " + sweepID + " " + strconv.Itoa(int(round)))
}

func spanOf(key string) trace.SpanContext {
	sum := sha256.Sum256([]byte(key))
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(sum[:16]), SpanID: trace.SpanID(sum[16:24]), Remote: true})
}

// Rollout returns ctx within the trace of a rollout in a round, below its root span. Without
// telemetry it returns ctx.
func (t *Telemetry) Rollout(ctx context.Context, rolloutID string, round int32) context.Context {
	if !t.Enabled() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, t.sampled(RolloutSpan(rolloutID, round)))
}

// Samples reports whether the trace of a root span is recorded.
func (t *Telemetry) Samples(root trace.SpanContext) bool {
	// Whoever computes the bit from the trace id selects the same traces.
	id := root.TraceID()
	return t.Enabled() && binary.BigEndian.Uint64(id[8:16])>>1 < t.threshold
}

func (t *Telemetry) sampled(root trace.SpanContext) trace.SpanContext {
	return root.WithTraceFlags(root.TraceFlags().WithSampled(t.Samples(root)))
}

// RecordRoot records a root span. Exactly one process calls it, once, when it knows the outcome.
// It records the trace of each sweep of which a rollout may be recorded.
func (t *Telemetry) RecordRoot(ctx context.Context, at trace.SpanContext, root Root) {
	if !t.Enabled() || t.threshold == 0 {
		return
	}
	ctx = context.WithValue(ctx, rootKey{}, at)
	_, span := t.tracer.Start(ctx, root.Name, trace.WithNewRoot(), trace.WithTimestamp(root.Start))
	span.SetAttributes(root.Attributes...) // copies them once, an option of Start twice
	for _, link := range root.Links {
		span.AddLink(trace.Link{SpanContext: link})
	}
	for _, event := range root.Events {
		span.AddEvent(event.Name, trace.WithTimestamp(event.At), trace.WithAttributes(event.Attributes...))
	}
	if root.Failure != "" {
		span.SetStatus(codes.Error, root.Failure)
	}
	span.End(trace.WithTimestamp(root.End))
}

// rootSampler records the roots that RecordRoot starts, and no other span without a parent: what
// belongs to no rollout, such as a client's request for results, has no trace.
type rootSampler struct{}

// ShouldSample implements sdktrace.Sampler.
func (rootSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if _, ok := p.ParentContext.Value(rootKey{}).(trace.SpanContext); ok {
		return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.Drop}
}

// Description implements sdktrace.Sampler.
func (rootSampler) Description() string { return "RootSampler" }

// Traceparent returns the W3C traceparent of the current span, empty without a trace. It is all of
// a trace that programs of others get.
func Traceparent(ctx context.Context) string {
	at := trace.SpanContextFromContext(ctx)
	if !at.IsValid() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", at.TraceID(), at.SpanID(), at.TraceFlags()&trace.FlagsSampled)
}

func threshold(ratio float64) uint64 {
	if ratio >= 1 {
		return math.MaxUint64
	}
	return uint64(ratio * (1 << 63))
}
