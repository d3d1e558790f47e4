package telemetry

import (
	"context"
	"crypto/rand"

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
	_, _ = rand.Read(id[:]) // never fails
	return id, randomSpanID()
}

// NewSpanID returns the id of a child span.
func (generator) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return randomSpanID() }

func randomSpanID() trace.SpanID {
	var id trace.SpanID
	_, _ = rand.Read(id[:]) // never fails
	return id
}
