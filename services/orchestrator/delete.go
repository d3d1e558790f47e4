package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/access"
	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/plan"
)

var (
	// errOpen: a sweep to delete has rollouts without a result and is not cancelled.
	errOpen = errors.New("the sweep is not over: cancel it first")
	// errEnding: rollouts of a sweep to delete still end.
	errEnding = errors.New("rollouts of the sweep still end")
)

// DeleteSweep implements OrchestratorService.
func (s *server) DeleteSweep(ctx context.Context, req *orchestratorv1.DeleteSweepRequest) (*orchestratorv1.DeleteSweepResponse, error) {
	if err := s.deleteSweep(ctx, req.GetSweepId(), func() error { return nil }); err != nil {
		return nil, statusOf(err)
	}
	return &orchestratorv1.DeleteSweepResponse{}, nil
}

// deleteSweep deletes a sweep that is over and that passes a check.
func (s *server) deleteSweep(ctx context.Context, id string, check func() error) error {
	sweep, err := s.bus.Sweep(ctx, id)
	if errors.Is(err, bus.ErrNotFound) {
		control, controlErr := s.bus.Control(ctx, id)
		if controlErr == nil && control.GetDeleted() && access.FromContext(ctx).Owns(control.GetTeam()) {
			return nil
		}
	}
	if err == nil {
		err = checkSweep(ctx, sweep)
	}
	if err == nil {
		err = s.beginDeletion(ctx, sweep, check)
	}
	if err != nil {
		return err
	}
	return s.completeDeletion(ctx, id)
}

// beginDeletion marks a sweep as deleted, of which nothing runs or will run. It calls check when
// that is sure, so that check sees the last result. A round that begins meanwhile wins.
func (s *server) beginDeletion(ctx context.Context, sweep *busv1.Sweep, check func() error) error {
	id := sweep.GetId()
	control, err := s.bus.Control(ctx, id)
	if err != nil || control.GetDeleted() {
		return err
	}
	rounds := bus.Rounds(control.GetRounds())
	if !bus.Cancelled(control, rounds.Last()) {
		done, err := s.finished(ctx, sweep, rounds)
		if err == nil && done < int64(plan.Size(sweep)) {
			err = fmt.Errorf("%w: %d of %d rollouts have a result", errOpen, done, plan.Size(sweep))
		}
		if err != nil {
			return err
		}
	}
	progress := &orchestratorv1.SweepProgress{}
	if err := s.backlog(ctx, id, progress); err != nil {
		return err
	}
	if n := progress.GetRunning() + progress.GetQueued() + progress.GetScoring() + progress.GetRetrying() + progress.GetAsked() + progress.GetLimited(); n > 0 {
		return fmt.Errorf("%w: %d run or wait", errEnding, n)
	}
	if err := check(); err != nil {
		return err
	}
	deleted, err := s.bus.BeginDeletion(ctx, id, func(now *busv1.SweepControl) bool {
		return len(now.GetRounds()) == len(rounds)
	})
	if err == nil && !deleted {
		err = fmt.Errorf("%w: a round has just begun", errOpen)
	}
	return err
}

// completeDeletion removes all of a marked sweep but the mark. The sessions on all live tool hosts
// follow the logs, from which reads would make them again. The plan goes last, since it tells that
// something may be left.
func (s *server) completeDeletion(ctx context.Context, id string) error {
	if err := s.bus.RemoveSweepData(ctx, id); err != nil {
		return err
	}
	err := s.eachToolHost(ctx, func(conn grpc.ClientConnInterface) error {
		_, err := toolhostv1.NewToolHostServiceClient(conn).DeleteSessions(ctx, &toolhostv1.DeleteSessionsRequest{SweepId: id})
		return err
	})
	if err != nil {
		return err
	}
	return s.bus.RemovePlan(ctx, id)
}
