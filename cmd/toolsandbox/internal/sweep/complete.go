package sweep

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// IsComplete returns whether every rollout of a sweep has a score, or a failure that is not played
// again.
func (s *Sweep) IsComplete(ctx context.Context, id string) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.orchestrator.WatchSweep(ctx, &orchestratorv1.WatchSweepRequest{SweepId: id})
	for err == nil {
		var event *orchestratorv1.WatchSweepResponse
		if event, err = stream.Recv(); err != nil {
			break
		}
		switch progress, end := event.GetProgress(), event.GetEnd(); {
		case progress != nil && progress.GetDone() < progress.GetTotal():
			return false, nil
		case again(event.GetResult()):
			return false, nil
		case end != nil:
			return end.GetExhausted() == "" && !end.GetCancelled(), nil
		}
	}
	if status.Code(err) == codes.NotFound {
		return false, nil
	}
	return false, wrapStatus("look for played rollouts", err)
}

// again returns whether a new round plays a result again.
func again(result *busv1.Result) bool {
	reason := result.GetEnd().GetReason()
	return reason == busv1.EndReason_END_REASON_INFRASTRUCTURE || reason == busv1.EndReason_END_REASON_CANCELLED
}
