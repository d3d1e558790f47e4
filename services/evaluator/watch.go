package evaluator

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/access"
	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
)

// WatchScore implements EvaluatorService.
func (s *server) WatchScore(req *evaluatorv1.WatchScoreRequest, stream evaluatorv1.EvaluatorService_WatchScoreServer) error {
	ctx, id := stream.Context(), req.GetRolloutId()
	changed, stop := s.assembler.Watch(id)
	defer stop()
	if err := s.checkRollout(ctx, id); err != nil {
		return statusOf(err)
	}
	for sent := -1; ; {
		// Read the result first, so that nothing follows the final score.
		result, err := s.bus.Result(ctx, id)
		if err == nil {
			return stream.Send(&evaluatorv1.WatchScoreResponse{Result: result, Final: true})
		}
		if !errors.Is(err, bus.ErrNotFound) {
			return statusOf(err)
		}
		partial, err := s.partial(ctx, id)
		if err != nil {
			return statusOf(err)
		}
		if partial != nil && int(partial.GetMessageCount()) > sent {
			sent = int(partial.GetMessageCount())
			if err := stream.Send(&evaluatorv1.WatchScoreResponse{Result: partial}); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return statusOf(ctx.Err())
		case <-s.done:
			return status.Error(codes.Unavailable, "the evaluator is stopping")
		}
	}
}

// checkRollout returns an error for an unknown rollout, or one of another team than the caller's.
func (s *server) checkRollout(ctx context.Context, id string) error {
	log, err := s.bus.ReadLog(ctx, id)
	if err == nil && (len(log.Entries) == 0 || !access.FromContext(ctx).Owns(log.Entries[0].GetStart().GetRollout().GetTeam())) {
		return fmt.Errorf("log of rollout %s: %w", id, bus.ErrNotFound)
	}
	return err
}

// partial returns the score as if the rollout ended now, nil if that is not yet known.
func (s *server) partial(ctx context.Context, id string) (*busv1.Result, error) {
	trajectory := s.assembler.Partial(id)
	if trajectory == nil {
		return nil, nil
	}
	if trajectory.End == nil {
		trajectory.End = &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}
	}
	result, err := s.scorer.result(ctx, trajectory)
	if err != nil {
		return nil, err
	}
	result.Rollout, result.End = trajectory.Rollout, nil
	return result, nil
}
