package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// minTracedWait is the shortest wait that gets a span.
const minTracedWait = time.Millisecond

// microsPerDollar converts costs.
const microsPerDollar = 1e6

// These are the reasons of waits: the limits of a provider and of a sweep, or the pause before a
// request is sent again.
const (
	waitLimit   = "limit"
	waitBackoff = "backoff"
)

// attemptTrace describes the attempts of one turn in spans below the span of the turn.
type attemptTrace struct {
	sends   int       // requests so far
	reason  string    // why the next request is sent again, empty for the first
	refused time.Time // when the last request failed
}

// backedOff records the pause since the last request failed.
func (t *attemptTrace) backedOff(ctx context.Context) {
	if !t.refused.IsZero() {
		traceWait(ctx, waitBackoff, t.refused)
	}
}

// traceWait records a wait that ends now.
func traceWait(ctx context.Context, reason string, began time.Time) {
	if time.Since(began) < minTracedWait || !trace.SpanContextFromContext(ctx).IsSampled() {
		return
	}
	_, span := otel.Tracer(telemetry.Scope).Start(ctx, "wait "+reason, trace.WithTimestamp(began))
	span.End()
}

// traceRequest records one request to the provider that ends now. body is the answer's, nil without
// one.
func (q *attempt) traceRequest(ctx context.Context, sent time.Time, body []byte, err error) {
	t := &q.traced
	defer func() { t.sends, t.reason, t.refused = t.sends+1, errorType(err), time.Now() }()
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return
	}
	method := http.MethodPost
	attributes := make([]attribute.KeyValue, 0, 12)
	attributes = append(attributes, telemetry.HTTPMethod.String(method), telemetry.ServerAddress.String(hostOf(q.to.BaseURL)), telemetry.HTTPResend.Int(t.sends))
	if t.sends > 0 {
		attributes = append(attributes, telemetry.RetryReason.String(t.reason))
	}
	failure, _ := errors.AsType[*provider.Failure](err)
	switch {
	case failure != nil && failure.Status > 0:
		attributes = append(attributes, telemetry.HTTPStatus.Int(failure.Status))
	case body != nil:
		attributes = append(attributes, telemetry.HTTPStatus.Int(http.StatusOK))
	}
	attributes = append(attributes, describeAnswer(body)...)
	if q.answer != nil && pricing.HasTokens(q.answer.Usage) {
		usage := &agentgwv1.Usage{InputTokens: q.answer.Usage.GetInputTokens(), CachedTokens: q.answer.Usage.GetCachedTokens(), OutputTokens: q.answer.Usage.GetOutputTokens()}
		if cost, priced := q.cost(q.budget.Key.Provider, q.budget.Model, usage); priced {
			usage.CostMicros = &cost.Micros
		}
		attributes = append(attributes, UsageAttributes(usage)...)
	}
	_, span := otel.Tracer(telemetry.Scope).Start(ctx, method, trace.WithTimestamp(sent), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	if kind := errorType(err); kind != "" && !errors.Is(err, context.Canceled) {
		span.SetAttributes(telemetry.ErrorType.String(kind))
		span.SetStatus(codes.Error, kind)
	}
	span.End()
}

// errorType returns the class of a failed request: its HTTP status, or what happened to it. It
// quotes nothing.
func errorType(err error) string {
	failure, ok := errors.AsType[*provider.Failure](err)
	switch {
	case err == nil:
		return ""
	case !ok:
		return "cancelled"
	case failure.Timeout:
		return "timeout"
	case failure.Status >= http.StatusMultipleChoices:
		return strconv.Itoa(failure.Status)
	case failure.Network:
		return "network"
	case failure.ContextOverflow:
		return "context"
	case failure.Refusal != "":
		return "refused"
	}
	return "answer"
}

// UsageAttributes returns the tokens and the cost of a request or a turn.
func UsageAttributes(usage *agentgwv1.Usage) []attribute.KeyValue {
	attributes := []attribute.KeyValue{telemetry.InputTokens.Int64(usage.GetInputTokens()), telemetry.OutputTokens.Int64(usage.GetOutputTokens())}
	if cached := usage.GetCachedTokens(); cached > 0 {
		attributes = append(attributes, telemetry.CachedTokens.Int64(cached))
	}
	if usage.CostMicros != nil {
		attributes = append(attributes, telemetry.CostUSD.Float64(float64(usage.GetCostMicros())/microsPerDollar))
	}
	return attributes
}

// answerHead is what the providers' answers say of themselves, each in its own field.
type answerHead struct {
	Model        string `json:"model"`
	ModelVersion string `json:"modelVersion"`  // Google
	StopReason   string `json:"stop_reason"`   // Anthropic
	FinishReason string `json:"finish_reason"` // Cohere
	Status       string `json:"status"`        // Responses
	Choices      []struct {
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Candidates []struct {
		FinishReason string `json:"finishReason"`
	} `json:"candidates"`
}

// describeAnswer returns the model and the finish reasons of an answer, as far as it has them.
func describeAnswer(body []byte) []attribute.KeyValue {
	var head answerHead
	if len(body) == 0 || json.Unmarshal(body, &head) != nil {
		return nil
	}
	var attributes []attribute.KeyValue
	if model := head.Model + head.ModelVersion; model != "" {
		attributes = append(attributes, telemetry.ResponseModel.String(model))
	}
	var reasons []string
	for _, choice := range head.Choices {
		reasons = append(reasons, choice.FinishReason)
	}
	for _, candidate := range head.Candidates {
		reasons = append(reasons, candidate.FinishReason)
	}
	for _, reason := range []string{head.StopReason, head.FinishReason} {
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 && head.Status != "" {
		reasons = append(reasons, head.Status)
	}
	if len(reasons) > 0 {
		attributes = append(attributes, telemetry.FinishReasons.StringSlice(reasons))
	}
	return attributes
}
