package agentgw

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/pricing"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"
)

// startSpan opens the span of a turn: "chat" of a model, "invoke_agent" of a plug-in.
func (s *Server) startSpan(ctx context.Context, req *agentgwv1.RespondRequest) (context.Context, trace.Span) {
	player := req.GetPlayer()
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, trace.SpanFromContext(ctx)
	}
	operation, of := "invoke_agent", player.GetName()
	attributes := make([]attribute.KeyValue, 0, 8)
	attributes = append(attributes, telemetry.AgentName.String(player.GetName()), telemetry.ConversationID.String(req.GetRolloutId()),
		telemetry.Role.String(world.RoleName(req.GetRole())), telemetry.MessageIndex.Int(int(req.GetIndex())))
	if m := player.GetModel(); m != nil {
		operation, of = "chat", m.GetModel()
		attributes = append(attributes, telemetry.ProviderName.String(m.GetProvider()), telemetry.RequestModel.String(m.GetModel()))
	}
	attributes = append(attributes, telemetry.OperationName.String(operation))
	ctx, span := s.tracer.Start(ctx, operation+" "+of, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	return ctx, span
}

// traceTurn returns a turn's response or status, and describes it in the span. A player that is
// told to wait or that is cancelled has not failed.
func (s *Server) traceTurn(span trace.Span, req *agentgwv1.RespondRequest, response *agentgwv1.RespondResponse, err error) (*agentgwv1.RespondResponse, error) {
	if throttled, isThrottled := errors.AsType[*model.Throttled](err); isThrottled {
		response, err = &agentgwv1.RespondResponse{Throttled: &agentgwv1.Throttled{SpendLimitReached: throttled.SpendLimitReached, Detail: throttled.Error()}}, nil
	}
	if !span.IsRecording() {
		if err != nil {
			return nil, statusError(err)
		}
		return response, nil
	}
	if err != nil {
		if kind := code(err); kind != codes.Canceled {
			s.setFailure(span, strings.ToLower(kind.String()), err.Error())
		}
		return nil, statusError(err)
	}
	if response.GetThrottled() != nil {
		span.SetAttributes(telemetry.Throttled.Bool(true))
	}
	if failure := response.GetFailure(); failure != nil {
		s.setFailure(span, strings.ToLower(strings.TrimPrefix(failure.GetClass().String(), "FAILURE_CLASS_")), failure.GetDetail())
	}
	if usage := response.GetUsage(); pricing.HasTokens(usage) {
		span.SetAttributes(model.UsageAttributes(usage)...)
	}
	if s.content {
		span.SetAttributes(telemetry.InputMessages.String(messagesJSON(req.GetView())), telemetry.OutputMessages.String(messagesJSON(response.GetMessages())))
	}
	return response, nil
}

// setFailure marks a span as failed. The detail may quote the conversation.
func (s *Server) setFailure(span trace.Span, kind, detail string) {
	span.SetAttributes(telemetry.ErrorType.String(kind))
	if !s.content {
		detail = kind
	}
	span.SetStatus(otelcodes.Error, detail)
}

// chatMessage and chatPart are the form of messages in the semantic conventions.
type chatMessage struct {
	Role  string     `json:"role"`
	Parts []chatPart `json:"parts"`
}

type chatPart struct {
	Type      string `json:"type"`
	Content   string `json:"content,omitempty"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Response  string `json:"response,omitempty"`
}

// messagesJSON returns messages in the form of the semantic conventions.
func messagesJSON(messages []*worldv1.Message) string {
	chat := make([]chatMessage, len(messages))
	for i, message := range messages {
		part := chatPart{Type: "text", Content: messagetext.Content(message)}
		if call := message.GetCall(); call != nil {
			part = chatPart{Type: "tool_call", ID: call.GetId(), Name: call.GetTool(), Arguments: call.GetArgumentsJson() + call.GetArgumentsText()}
		} else if result := message.GetResult(); result != nil {
			part = chatPart{Type: "tool_call_response", ID: result.GetId(), Response: result.GetText()}
		}
		chat[i] = chatMessage{Role: chatRole(message.GetSender()), Parts: []chatPart{part}}
	}
	raw, err := json.Marshal(chat)
	if err != nil {
		return ""
	}
	return string(raw)
}

// chatRole returns the role of the semantic conventions.
func chatRole(role worldv1.Role) string {
	switch role { // the default covers the others
	case worldv1.Role_ROLE_AGENT:
		return "assistant"
	case worldv1.Role_ROLE_EXECUTION_ENVIRONMENT:
		return "tool"
	}
	return strings.ToLower(world.RoleName(role))
}
