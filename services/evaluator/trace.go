package evaluator

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
)

const (
	microsPerDollar = 1e6
	// forbidden is the cause of a triggered minefield. No trace speaks of minefields.
	forbidden = "forbidden_action"
	// plain is the variant of a scenario without augmentations.
	plain = "plain"
)

// publish stores a result, unless there is one, and then measures it and records the root span of
// its rollout. Only the process that stored the result does that. began is when scoring began.
func (s *scorer) publish(ctx context.Context, played *assemble.Trajectory, result *busv1.Result, began time.Time) error {
	created, err := s.bus.PublishResult(ctx, result)
	if err != nil || !created {
		return err
	}
	s.stored(ctx, began, result)
	at := telemetry.RolloutSpan(result.GetRollout().GetId(), result.GetRound())
	if !s.traces.Samples(at) {
		return nil
	}
	ended := time.Now()
	_, span := s.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, at.WithTraceFlags(trace.FlagsSampled)), "evaluate", trace.WithTimestamp(began))
	span.End(trace.WithTimestamp(ended))
	s.traces.RecordRoot(ctx, at, s.root(ctx, played, result, began, ended))
	return nil
}

// publishFailure stores the failure of a rollout that nobody can score.
func (s *scorer) publishFailure(ctx context.Context, rollout *busv1.Rollout, round int32, end *busv1.End) error {
	began, played := time.Now(), &assemble.Trajectory{}
	if s.traces.Samples(telemetry.RolloutSpan(rollout.GetId(), round)) {
		// A log that cannot be read is no reason to have no trace.
		if log, err := s.bus.ReadLog(ctx, rollout.GetId()); err == nil {
			for _, entry := range log.Entries {
				if claim := entry.GetClaim(); claim != nil {
					played.Claims = append(played.Claims, claim)
				}
			}
		}
	}
	return s.publish(ctx, played, &busv1.Result{Rollout: rollout, Round: round, End: end}, began)
}

// root describes a rollout from its first claim to its score.
func (s *scorer) root(ctx context.Context, played *assemble.Trajectory, result *busv1.Result, began, ended time.Time) telemetry.Root {
	root := telemetry.Root{Name: "rollout", Start: began, End: ended, Attributes: s.describe(ctx, played, result)}
	rollout, round := result.GetRollout(), result.GetRound()
	root.Links = append(root.Links, telemetry.SweepSpan(rollout.GetSweepId(), round))
	var earlier []int32
	first := true
	for _, claim := range played.Claims {
		if claim.GetRound() != round {
			if !slices.Contains(earlier, claim.GetRound()) {
				earlier = append(earlier, claim.GetRound())
				root.Links = append(root.Links, telemetry.RolloutSpan(rollout.GetId(), claim.GetRound()))
			}
			continue
		}
		at := claim.GetStarted().AsTime()
		if first && at.Before(began) {
			root.Start = at
		}
		first = false
		root.Events = append(root.Events, telemetry.Event{Name: "claim", At: at, Attributes: []attribute.KeyValue{
			telemetry.Worker.String(claim.GetWorker()), telemetry.Attempt.Int(int(claim.GetAttempt())),
		}})
	}
	if result.GetEnd().GetReason() == busv1.EndReason_END_REASON_INFRASTRUCTURE {
		root.Failure = word(result.GetEnd().GetFailureClass().String(), "FAILURE_CLASS_")
		root.Attributes = append(root.Attributes, telemetry.ErrorType.String(root.Failure))
	}
	return root
}

// describe returns the attributes of a rollout. They hold no text of a conversation, and nothing of
// its evaluation but the score and the kinds of causes.
func (s *scorer) describe(ctx context.Context, played *assemble.Trajectory, result *busv1.Result) []attribute.KeyValue {
	rollout := result.GetRollout()
	attributes := make([]attribute.KeyValue, 0, 20)
	attributes = append(attributes,
		telemetry.SweepID.String(rollout.GetSweepId()), telemetry.RolloutID.String(rollout.GetId()), telemetry.Scenario.String(rollout.GetScenario()),
		telemetry.AgentName.String(rollout.GetAgent().GetName()), telemetry.UserName.String(rollout.GetUser().GetName()),
		telemetry.Trial.Int(int(rollout.GetTrial())), telemetry.Seed.Int64(rollout.GetSeed()), telemetry.Round.Int(int(result.GetRound())),
		telemetry.End.String(word(result.GetEnd().GetReason().String(), "END_REASON_")), telemetry.Messages.Int(int(result.GetMessageCount())),
	)
	if !bus.IsUnscored(result.GetEnd()) {
		attributes = append(attributes, telemetry.Score.Float64(result.GetSimilarity()))
	}
	if starting, err := s.startingWorld(ctx, rollout.GetSetupDigest()); err == nil { // without it, the trace says less
		attributes = append(attributes, starting.scenario...)
	}
	if len(result.GetCauses()) > 0 {
		attributes = append(attributes, telemetry.Causes.StringSlice(causeKinds(result)))
	}
	return append(attributes, usageAttributes(played.Usage)...)
}

func usageAttributes(usage *agentgwv1.Usage) []attribute.KeyValue {
	if usage == nil {
		return nil
	}
	attributes := []attribute.KeyValue{telemetry.InputTokens.Int64(usage.GetInputTokens()), telemetry.OutputTokens.Int64(usage.GetOutputTokens())}
	if usage.CostMicros != nil {
		attributes = append(attributes, telemetry.CostUSD.Float64(float64(usage.GetCostMicros())/microsPerDollar))
	}
	return attributes
}

// causeKinds returns the kinds of a result's causes, without their details.
func causeKinds(result *busv1.Result) []string {
	var kinds []string
	for _, cause := range result.GetCauses() {
		kind := forbidden
		if cause.GetKind() != busv1.CauseKind_CAUSE_KIND_MINEFIELD {
			kind = word(cause.GetKind().String(), "CAUSE_KIND_")
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// variant returns augmentations of tools in lower case, joined by "+".
func variant(augmentations []setupv1.Augmentation) string {
	if len(augmentations) == 0 {
		return plain
	}
	words := make([]string, len(augmentations))
	for i, augmentation := range augmentations {
		words[i] = word(augmentation.String(), "AUGMENTATION_")
	}
	return strings.Join(words, "+")
}

// word returns the name of an enum's value in lower case.
func word(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }
