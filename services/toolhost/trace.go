package toolhost

import (
	"context"
	"strings"
	"time"
	"unicode"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/executor"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/host"
)

// executeTool is the operation of a call of a tool.
const executeTool = "execute_tool"

// startSpan opens the span of a request about a session. An unknown session or setup and a
// cancelled request are no errors: the caller restores the one and has given up the other.
func (s *server) startSpan(ctx context.Context, name string) (context.Context, func(error)) {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, func(error) {}
	}
	ctx, span := s.tracer.Start(ctx, name)
	return ctx, func(err error) {
		switch kind := status.Code(statusOf(err)); kind {
		case codes.OK, codes.NotFound, codes.Canceled:
		default:
			span.SetAttributes(telemetry.ErrorType.String(kind.String()))
			span.SetStatus(otelcodes.Error, kind.String())
		}
		span.End()
	}
}

// exceptionType returns the type of an exception, without its text, which may quote arguments.
func exceptionType(exception string) string {
	kind, _, _ := strings.Cut(exception, ":")
	if strings.ContainsFunc(kind, func(r rune) bool { return r != '.' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return "Exception"
	}
	return kind
}

// observer returns a function that records a span per call, nil without tracing. The spans of a
// batch have the same time, because its calls ran in several orders. An exception is an answer, not
// an error: the caller reads it and continues.
func (s *server) observer(ctx context.Context) host.Observer {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return nil
	}
	return func(start time.Time, calls []*worldv1.Message, answers []executor.Answer) {
		attributes := make([]attribute.KeyValue, 0, 4)
		for _, answer := range answers {
			name := executeTool
			attributes = append(attributes[:0], telemetry.OperationName.String(executeTool))
			if answer.Tool != "" { // neither code nor the name of a tool that does not exist
				name += " " + answer.Tool
				attributes = append(attributes, telemetry.ToolName.String(answer.Tool))
			}
			if id, _ := messagetext.Answering(calls[answer.Call]); id != nil {
				attributes = append(attributes, telemetry.ToolCallID.String(*id))
			}
			if answer.Exception != "" {
				attributes = append(attributes, telemetry.Exception.String(exceptionType(answer.Exception)))
			}
			if s.content {
				attributes = append(attributes, telemetry.ToolArguments.String(messagetext.Content(calls[answer.Call])), telemetry.ToolResult.String(answer.Content))
			}
			_, span := s.tracer.Start(ctx, name, trace.WithTimestamp(start))
			span.SetAttributes(attributes...) // copies them once, an option of Start twice
			span.End()
		}
	}
}
