package worker

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

// traceFailure records an attempt that failed and will be followed by another. Other attempts need
// no span: each is a claim of the rollout's root span, and a killed worker leaves no half of one.
func traceFailure(ctx context.Context, delivery *bus.Delivery, began time.Time, err error) {
	kind := status.Code(err).String()
	_, span := otel.Tracer(telemetry.Scope).Start(ctx, "attempt", trace.WithTimestamp(began), trace.WithAttributes(
		telemetry.Attempt.Int(delivery.Attempt), telemetry.ErrorType.String(kind),
	))
	span.SetStatus(codes.Error, kind)
	span.End()
}
