package conformance

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/importer"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Scoring is a trajectory with its graphs and the score that the original printed.
type Scoring struct {
	Evaluation *evaluationv1.Evaluation
	Messages   []*worldv1.Message
	Tables     []*worldv1.Table
	want       recordedResult
}

// Evaluations returns the cases of a file of evaluations, in order. The error names the line.
func Evaluations(path string) ([]*Scoring, error) { return decodeAll(path, decodeScoring) }

// Scored says whether the original scored the trajectory: one that it did not finish it did not.
func (s *Scoring) Scored() bool { return s.want.ExceptionType == "" }

// Differences compares a result with what the original printed.
func (s *Scoring) Differences(got *busv1.Result) []Difference {
	var c comparison
	c.result(&s.want, got)
	return c.differences
}

func openEvaluation(_ context.Context, r *Runner, _ string) (player, error) {
	return r.perCase(func(ctx context.Context, l line) outcome {
		s, err := decodeScoring(l)
		if err != nil {
			return outcome{differences: failure(err)}
		}
		return r.score(ctx, s)
	}), nil
}

func decodeScoring(l line) (*Scoring, error) {
	var recorded struct {
		Messages, Tables       json.RawMessage
		Milestones, Minefields json.RawMessage
		Result                 recordedResult
	}
	if err := json.Unmarshal(l.raw, &recorded); err != nil {
		return nil, fmt.Errorf("decode evaluation: %w", err)
	}
	s := &Scoring{want: recorded.Result}
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

// score lets the evaluator score a trajectory, if the original did.
func (r *Runner) score(ctx context.Context, s *Scoring) outcome {
	if !s.Scored() {
		return outcome{unchecked: true}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := evaluatorv1.NewEvaluatorServiceClient(r.services.Evaluator).ScoreTrajectory(ctx, &evaluatorv1.ScoreTrajectoryRequest{
		Evaluation: s.Evaluation, Messages: s.Messages, Tables: s.Tables,
	})
	if err != nil {
		return outcome{differences: failure(err)}
	}
	return outcome{differences: s.Differences(response.GetResult())}
}
