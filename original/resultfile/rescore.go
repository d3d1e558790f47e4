package resultfile

import (
	"github.com/toolsandbox/toolsandbox/internal/measure"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// Failed reports whether the rollout ended in a failure or has no score, so that its entry does not
// result from its messages.
func (s ScenarioResult) Failed() bool { return s.ExceptionType != nil || !s.Scored() }

// MeasureFailed reports whether the rollout has no score because a pack's measure failed. Its
// messages can be scored again.
func (s ScenarioResult) MeasureFailed() bool {
	return s.ExceptionType != nil && *s.ExceptionType == measure.Exception
}

// Scored reports whether the rollout has a score.
func (s ScenarioResult) Scored() bool {
	_, scored := s.Similarity.Number()
	return scored
}

// Rescored returns the entry with the score of another evaluation of the same trajectory.
func (s ScenarioResult) Rescored(evaluation *evaluationv1.Evaluation, result *busv1.Result) ScenarioResult {
	return scenarioResult(Rollout{
		Scenario:  &scenariov1.Scenario{Setup: &setupv1.Setup{Name: s.Name, Categories: s.Categories}, Evaluation: evaluation},
		Result:    result,
		Directory: s.Name,
	})
}

// rollout returns the part of a rollout that the category means need. A failure of the model counts
// with its turns. A rollout without a score does not count.
func (s ScenarioResult) rollout() Rollout {
	similarity, scored := s.Similarity.Number()
	end := &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}
	switch {
	case !scored:
		end.Reason = busv1.EndReason_END_REASON_INFRASTRUCTURE
	case s.Failed():
		end.Reason = busv1.EndReason_END_REASON_MODEL_FAILURE
	}
	return Rollout{
		Scenario:  &scenariov1.Scenario{Setup: &setupv1.Setup{Name: s.Name, Categories: s.Categories}},
		Result:    &busv1.Result{Similarity: similarity, TurnCount: int32(s.TurnCount), End: end},
		Directory: s.Name,
	}
}

// With returns a summary with other entries and their category means.
func (s *Summary) With(entries []ScenarioResult) *Summary {
	rollouts := make([]Rollout, len(entries))
	for i, entry := range entries {
		rollouts[i] = entry.rollout()
	}
	return &Summary{Scenarios: entries, Categories: CategoriesOf(rollouts), GitSHA: s.GitSHA}
}

// Mean returns the mean similarity of all counted rollouts, nil without any.
func (s *Summary) Mean() *float64 { return s.Categories.Mean() }
