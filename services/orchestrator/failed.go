package orchestrator

import (
	"context"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// trajectoryOfFailed returns the end of a rollout whose log or setup cannot be read, if it was
// ended for that reason. Otherwise it returns cause.
func (s *server) trajectoryOfFailed(ctx context.Context, id string, cause error) (*orchestratorv1.GetTrajectoryResponse, error) {
	result, err := s.bus.Result(ctx, id)
	if err != nil || result.GetEnd().GetReason() != busv1.EndReason_END_REASON_INFRASTRUCTURE {
		return nil, cause
	}
	return &orchestratorv1.GetTrajectoryResponse{Rollout: result.GetRollout(), End: result.GetEnd()}, nil
}
