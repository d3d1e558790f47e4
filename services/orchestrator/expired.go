package orchestrator

import (
	"context"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// lost returns what can be said of a rollout whose log or setup cannot be read: how it ended, if it
// was given up for that. Else it returns the cause.
func (s *server) lost(ctx context.Context, id string, cause error) (*orchestratorv1.GetTrajectoryResponse, error) {
	result, err := s.bus.Result(ctx, id)
	if err != nil || result.GetEnd().GetReason() != busv1.EndReason_END_REASON_INFRASTRUCTURE {
		return nil, cause
	}
	return &orchestratorv1.GetTrajectoryResponse{Rollout: result.GetRollout(), End: result.GetEnd()}, nil
}
