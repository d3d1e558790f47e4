package sweep

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// Stored returns which rollouts of a sweep have a readable result, and whether it is final: a
// score, or a failure that is not played again. It is nil for an unknown sweep. The error wraps
// ErrDeleted for one that was deleted.
func (s *Sweep) Stored(ctx context.Context, id string) (map[string]bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.orchestrator.WatchSweep(ctx, &orchestratorv1.WatchSweepRequest{SweepId: id})
	if err != nil {
		return nil, WrapStatus("look for earlier results", err)
	}
	stored, count, paused := make(map[string]bool), int64(0), false
	for reports := 0; ; { // since the last result
		event, err := stream.Recv()
		switch {
		case status.Code(err) == codes.NotFound:
			now, err := s.state(ctx, id)
			if err == nil && now.GetDeleted() {
				err = fmt.Errorf("sweep %s %w", id, ErrDeleted)
			}
			return nil, err
		case err != nil:
			return nil, WrapStatus("look for earlier results", err)
		case event.GetResult() != nil:
			stored[event.GetResult().GetRollout().GetId()] = !bus.IsUnscored(event.GetResult().GetEnd())
			reports = 0
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

// IsComplete returns whether the stored results are final, and those of every rollout of the sweep.
func (s *Sweep) IsComplete(stored map[string]bool) bool {
	if len(stored) < s.rollouts {
		return false
	}
	for _, final := range stored {
		if !final {
			return false
		}
	}
	return true
}
