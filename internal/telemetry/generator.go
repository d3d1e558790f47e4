package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

type rootKey struct{}

// generator generates random span ids. The ids of a root span come from the context.
type generator struct{}

// NewIDs returns the ids of a root span.
func (generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if root, ok := ctx.Value(rootKey{}).(trace.SpanContext); ok {
		return root.TraceID(), root.SpanID()
	}
	var id trace.TraceID
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	return id, randomSpanID()
}

// NewSpanID returns the id of a child span.
func (generator) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return randomSpanID() }

// randomSpanID returns a valid id, which is not zero.
func randomSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
