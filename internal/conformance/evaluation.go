package conformance

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/importer"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// scoring is a finished trajectory with its graphs and its printed score.
type scoring struct {
	evaluation *evaluationv1.Evaluation
	messages   []*worldv1.Message
	tables     []*worldv1.Table
	want       recordedResult
}

func openEvaluation(_ context.Context, r *Runner, _ string) (player, error) {
	return r.perCase(func(ctx context.Context, l line) outcome {
		s, err := decodeScoring(l.raw)
		if err != nil {
			return outcome{differences: failure(err)}
		}
		return r.score(ctx, s)
	}), nil
}

func decodeScoring(raw []byte) (*scoring, error) {
	var recorded struct {
		Messages, Tables       json.RawMessage
		Milestones, Minefields json.RawMessage
		Result                 recordedResult
	}
	if err := json.Unmarshal(raw, &recorded); err != nil {
		return nil, fmt.Errorf("decode evaluation: %w", err)
	}
	s := &scoring{want: recorded.Result}
	var err error
	if s.messages, err = importer.Messages(recorded.Messages, 0); err != nil {
		return nil, fmt.Errorf("decode evaluation: %w", err)
	}
	if s.tables, err = importer.Tables(recorded.Tables); err != nil {
		return nil, fmt.Errorf("decode evaluation: %w", err)
	}
	if s.evaluation, err = importer.Evaluation(recorded.Milestones, recorded.Minefields); err != nil {
		return nil, fmt.Errorf("decode evaluation: %w", err)
	}
	return s, nil
}

// score lets the evaluator score a trajectory. One that the original did not finish is not scored.
func (r *Runner) score(ctx context.Context, s *scoring) outcome {
	if s.want.ExceptionType != "" {
		return outcome{unchecked: true}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := evaluatorv1.NewEvaluatorServiceClient(r.services.Evaluator).ScoreTrajectory(ctx, &evaluatorv1.ScoreTrajectoryRequest{
		Evaluation: s.evaluation, Messages: s.messages, Tables: s.tables,
	})
	if err != nil {
		return outcome{differences: failure(err)}
	}
	var c comparison
	c.result(&s.want, response.GetResult())
	return outcome{differences: c.differences}
}
