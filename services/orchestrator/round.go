package orchestrator

import (
	"bytes"
	"context"
	"errors"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/plan"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// queueUnscored begins a round, unless it has begun or is 0, and returns the jobs of all rollouts
// without a result in their round. Damaged rollouts that cannot be read are played again in the new
// round.
func (s *server) queueUnscored(ctx context.Context, sweepID string, rollouts []*busv1.Rollout, round int32, damaged []string) ([]*busv1.Job, error) {
	control, err := s.bus.Control(ctx, sweepID)
	if err != nil {
		return nil, err
	}
	for !bus.Rounds(control.GetRounds()).HasStarted(round) {
		unfinished, err := s.unfinished(ctx, sweepID, rollouts, round, control, damaged)
		if err == nil {
			err = s.bus.BeginRound(ctx, sweepID, control.GetRounds(), round, unfinished)
		}
		if err != nil && !errors.Is(err, bus.ErrFenced) {
			return nil, err
		}
		if control, err = s.bus.Control(ctx, sweepID); err != nil {
			return nil, err
		}
	}
	rounds := bus.Rounds(control.GetRounds())
	finished := make(map[string]bool)
	err = s.bus.VisitResults(ctx, sweepID, func(result *busv1.Result) { // not foreign ones
		if id := result.GetRollout().GetId(); result.GetRound() == rounds.OfID(id) {
			finished[id] = true
		}
	})
	if err != nil {
		return nil, err
	}
	var jobs []*busv1.Job
	for n, rollout := range rollouts {
		if !finished[rollout.GetId()] {
			jobs = append(jobs, &busv1.Job{Rollout: rollout, Round: rounds.Of(n), Parallel: control.GetParallel()})
		}
	}
	return jobs, nil
}

// unfinished returns the numbers of the rollouts that a new round plays: all that an earlier one
// left without a score, and damaged ones that cannot be read. Rollouts without a result remain in
// their round, unless that is cancelled.
func (s *server) unfinished(
	ctx context.Context, sweepID string, rollouts []*busv1.Rollout, round int32, control *busv1.SweepControl, damaged []string,
) ([]int, error) {
	rounds := bus.Rounds(control.GetRounds())
	scored, scoredFrom := make(map[string]bool), make(map[string][]byte)
	err := s.bus.VisitResults(ctx, sweepID, func(result *busv1.Result) {
		if id := result.GetRollout().GetId(); result.GetRound() == rounds.OfID(id) {
			scored[id], scoredFrom[id] = !bus.IsUnscored(result.GetEnd()), result.GetLogDigest()
		}
	})
	if err != nil {
		return nil, err
	}
	for _, id := range damaged {
		trajectory, err := s.trajectory(ctx, id)
		switch {
		case err == nil && bytes.Equal(trajectory.GetLogDigest(), scoredFrom[id]):
		case err == nil: // the log has lost its tail
			scored[id] = false
		case errors.Is(err, bus.ErrDamaged), errors.Is(err, bus.ErrNotFound), errors.Is(err, rollout.ErrLog):
			scored[id] = false
		case err != nil:
			return nil, err
		}
	}
	var unfinished []int
	for n, planned := range rollouts {
		in := rounds.Of(n)
		if isScored, ended := scored[planned.GetId()]; in < round && !isScored && (ended || bus.Cancelled(control, in)) {
			unfinished = append(unfinished, n)
		}
	}
	return unfinished, nil
}

// finished counts the rollouts of a sweep with a result in their round.
func (s *server) finished(ctx context.Context, sweep *busv1.Sweep, rounds bus.Rounds) (n int64, err error) {
	done := make(map[string]bool)
	err = s.bus.ResultIDs(ctx, sweep.GetId(), func(id string, round int32) {
		if round == rounds.OfID(id) && plan.Has(sweep, id) {
			done[id] = true
		}
	})
	return int64(len(done)), err
}
