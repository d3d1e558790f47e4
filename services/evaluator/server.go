package evaluator

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/cause"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/translate"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/usercheck"
)

// server implements EvaluatorService.
type server struct {
	evaluatorv1.UnimplementedEvaluatorServiceServer
	bus       bus.Evaluator
	scorer    *scorer
	assembler *assemble.Assembler
	done      <-chan struct{} // closed when the process stops
}

// statusOf maps errors to gRPC codes.
func statusOf(err error) error {
	return rpc.ErrorCodes{
		{Err: bus.ErrNotFound, Code: codes.NotFound},
		{Err: bus.ErrUnavailable, Code: codes.Unavailable},
		{Err: errUnscorable, Code: codes.InvalidArgument},
	}.Status(err)
}

// PutEvaluations implements EvaluatorService. It stores nothing unless all evaluations are valid.
func (s *server) PutEvaluations(ctx context.Context, req *evaluatorv1.PutEvaluationsRequest) (*evaluatorv1.PutEvaluationsResponse, error) {
	for _, named := range req.GetEvaluations() {
		if _, err := check(named.GetEvaluation()); err != nil {
			return nil, statusOf(fmt.Errorf("scenario %s: %w", named.GetScenario(), err))
		}
	}
	response := &evaluatorv1.PutEvaluationsResponse{}
	for _, named := range req.GetEvaluations() {
		digest, err := s.bus.PutEvaluation(ctx, named.GetEvaluation())
		if err != nil {
			return nil, statusOf(err)
		}
		response.Digests = append(response.Digests, digest)
	}
	return response, nil
}

// ScoreTrajectory implements EvaluatorService.
func (s *server) ScoreTrajectory(_ context.Context, req *evaluatorv1.ScoreTrajectoryRequest) (*evaluatorv1.ScoreTrajectoryResponse, error) {
	compiled, err := check(req.GetEvaluation())
	if err != nil {
		return nil, statusOf(err)
	}
	if compiled.Task != nil {
		return &evaluatorv1.ScoreTrajectoryResponse{Result: grade(compiled.Task, req.GetMessages(), req.GetTextIsNoCall())}, nil
	}
	scored, err := evaluate(compiled, req.GetMessages(), nil, req.GetTables())
	if err != nil {
		return nil, statusOf(err)
	}
	result := translate.Result(scored, len(req.GetMessages()))
	if req.GetCheckUser() {
		result.UserFlags = usercheck.Check(compiled.User, req.GetMessages(), int(req.GetStarting()))
	}
	trajectory := &assemble.Trajectory{Messages: req.GetMessages(), Starting: int(req.GetStarting())}
	var world *cause.World
	if req.GetTimeZone() != "" {
		var start []*worldv1.Table
		for _, table := range req.GetTables() {
			if table.GetIndex() < req.GetStarting() {
				start = append(start, table)
			} else {
				trajectory.Tables = append(trajectory.Tables, table)
			}
		}
		world = cause.NewWorld(req.GetTimeZone(), req.GetCategories(), start, req.GetEvaluation().GetSchema())
	}
	result.Causes = cause.Update(trajectory, result, req.GetEvaluation(), world, req.GetCauses())
	return &evaluatorv1.ScoreTrajectoryResponse{Result: result}, nil
}

// ExplainTrajectory implements EvaluatorService.
func (s *server) ExplainTrajectory(_ context.Context, req *evaluatorv1.ExplainTrajectoryRequest) (*evaluatorv1.ExplainTrajectoryResponse, error) {
	response, err := explain(req)
	if err != nil {
		return nil, statusOf(err)
	}
	return response, nil
}
