package model

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolsandbox/toolsandbox/internal/instrument"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"
)

// meters are the metrics of requests to providers, with or without a budget. Nothing reproducible
// depends on them.
type meters struct {
	duration, tokens metric.Float64Histogram
	cost             metric.Float64Counter
}

func newMeters() (*meters, error) {
	maker := instrument.NewMaker(otel.Meter("agentgw"))
	m := &meters{
		duration: maker.Histogram(instrument.ModelDuration), tokens: maker.Histogram(instrument.ModelTokens), cost: maker.Amount(instrument.ModelCost),
	}
	return m, maker.Err()
}

// done ends a request that has its permit, and records it.
func (q *attempt) done(ctx context.Context, permit *ratelimit.Permit, outcome ratelimit.Outcome, took time.Duration) {
	cost := permit.Done(outcome)
	q.spent = q.spent.Plus(cost)
	if permit == nil {
		cost = outcome.Cost
	}
	about := []attribute.KeyValue{
		attribute.String(instrument.LabelProvider, q.budget.Key.Provider), attribute.String(instrument.LabelModel, q.budget.Model),
	}
	if cost.Micros > 0 {
		q.meters.cost.Add(ctx, float64(cost.Micros)/1e6, metric.WithAttributes(about...))
	}
	about = append(about, attribute.String(instrument.LabelOperation, "chat"))
	if q.answer != nil {
		for kind, n := range map[string]int64{"input": q.answer.Usage.GetInputTokens(), "output": q.answer.Usage.GetOutputTokens()} {
			if n > 0 {
				q.meters.tokens.Record(ctx, float64(min(n, maxTokens)), metric.WithAttributes(append(about[:3:3], attribute.String(instrument.LabelTokenType, kind))...))
			}
		}
	}
	if outcome.Class != ratelimit.Succeeded {
		about = append(about, attribute.String(instrument.LabelError, string(outcome.Class)))
	}
	q.meters.duration.Record(ctx, took.Seconds(), metric.WithAttributes(about...))
}
