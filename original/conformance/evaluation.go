package conformance

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolsandbox/toolsandbox/original/importer"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ScoringCase is a trajectory with its graphs and the original's score.
type ScoringCase struct {
	Evaluation *evaluationv1.Evaluation
	Messages   []*worldv1.Message
	Tables     []*worldv1.Table
	want       recordedResult
}

// Evaluations returns the cases of a file of evaluations, in order. The error names the line.
func Evaluations(path string) ([]*ScoringCase, error) { return decodeAll(path, decodeScoringCase) }

// HasScore reports whether the original scored the trajectory. It did not score unfinished ones.
func (s *ScoringCase) HasScore() bool { return s.want.ExceptionType == "" }

// Differences compares a result with the original's.
func (s *ScoringCase) Differences(got *busv1.Result) []Difference {
	var c comparison
	c.result(&s.want, got)
	return c.differences
}

func openEvaluation(_ context.Context, r *Runner, _ string) (fileRunner, error) {
	return r.perCase(func(ctx context.Context, l line) outcome {
		s, err := decodeScoringCase(l)
		if err != nil {
			return outcome{differences: errorDifference(err)}
		}
		return r.score(ctx, s)
	}), nil
}

func decodeScoringCase(l line) (*ScoringCase, error) {
	var recorded struct {
		Messages, Tables       json.RawMessage
		Milestones, Minefields json.RawMessage
		Result                 recordedResult
	}
	if err := json.Unmarshal(l.raw, &recorded); err != nil {
		return nil, fmt.Errorf("decode evaluation: %w", err)
	}
	s := &ScoringCase{want: recorded.Result}
	var err error
	if s.Messages, err = importer.Messages(recorded.Messages, 0); err != nil {
		return nil, fmt.Errorf("decode evaluation: %w", err)
	}
	if s.Tables, err = importer.Tables(recorded.Tables); err != nil {
		return nil, fmt.Errorf("decode evaluation: %w", err)
	}
	if s.Evaluation, err = importer.Evaluation(recorded.Milestones, recorded.Minefields); err != nil {
		return nil, fmt.Errorf("decode evaluation: %w", err)
	}
	return s, nil
}

// score scores a trajectory with the evaluator if the original scored it.
func (r *Runner) score(ctx context.Context, s *ScoringCase) outcome {
	if !s.HasScore() {
		return outcome{unchecked: true}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := evaluatorv1.NewEvaluatorServiceClient(r.services.Evaluator).ScoreTrajectory(ctx, &evaluatorv1.ScoreTrajectoryRequest{
		Evaluation: s.Evaluation, Messages: s.Messages, Tables: s.Tables,
	})
	if err != nil {
		return outcome{differences: errorDifference(err)}
	}
	return outcome{differences: s.Differences(response.GetResult())}
}
