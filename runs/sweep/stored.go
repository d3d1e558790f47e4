package sweep

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// Stored returns the readable results of a sweep by the id of the rollout; nil for an unknown
// sweep.
func (s *Sweep) Stored(ctx context.Context, id string) (map[string]*busv1.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.orchestrator.WatchSweep(ctx, &orchestratorv1.WatchSweepRequest{SweepId: id})
	if err != nil {
		return nil, wrapStatus("look for earlier results", err)
	}
	stored, count, paused := make(map[string]*busv1.Result), int64(0), false
	for reports := 0; ; {
		event, err := stream.Recv()
		switch {
		case status.Code(err) == codes.NotFound:
			return nil, nil
		case err != nil:
			return nil, wrapStatus("look for earlier results", err)
		case event.GetResult() != nil:
			stored[event.GetResult().GetRollout().GetId()] = event.GetResult()
		case event.GetProgress() != nil:
			if turned := event.GetProgress().GetPaused() != paused; !turned || reports == 0 {
				reports++
			}
			count, paused = event.GetProgress().GetDone(), event.GetProgress().GetPaused()
		}
		// A second report follows a time without results: the others cannot be read.
		if event.GetEnd() != nil || reports > 1 || int64(len(stored)) >= count {
			return stored, nil
		}
	}
}

// IsComplete returns whether these results hold a score, or a failure that is not played again, of
// every rollout of the sweep.
func (s *Sweep) IsComplete(stored map[string]*busv1.Result) bool {
	spec := s.request.GetSpec()
	if len(stored) < len(spec.GetScenarios())*len(spec.GetAgents())*len(spec.GetUsers())*int(spec.GetTrials()) {
		return false
	}
	for _, result := range stored {
		if bus.IsUnscored(result.GetEnd()) {
			return false
		}
	}
	return true
}
