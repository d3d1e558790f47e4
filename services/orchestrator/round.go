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
	for err == nil && !bus.Rounds(control.GetRounds()).HasStarted(round) {
		if err = s.beginRound(ctx, sweepID, rollouts, round, control, damaged); err != nil && !errors.Is(err, bus.ErrFenced) {
			return nil, err
		}
		control, err = s.bus.Control(ctx, sweepID)
	}
	if err != nil {
		return nil, err
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
			jobs = append(jobs, &busv1.Job{Rollout: rollout, Round: rounds.Of(n)})
		}
	}
	return jobs, nil
}

// beginRound begins a round with all rollouts that an earlier one left without a score, and with
// damaged ones that cannot be read. Rollouts without a result remain in their round, unless that is
// cancelled. The error is bus.ErrFenced if a round has begun since control was read.
func (s *server) beginRound(
	ctx context.Context, sweepID string, rollouts []*busv1.Rollout, round int32, control *busv1.SweepControl, damaged []string,
) error {
	rounds := bus.Rounds(control.GetRounds())
	scored, scoredFrom := make(map[string]bool), make(map[string][]byte)
	err := s.bus.VisitResults(ctx, sweepID, func(result *busv1.Result) {
		if id := result.GetRollout().GetId(); result.GetRound() == rounds.OfID(id) {
			scored[id], scoredFrom[id] = !bus.IsUnscored(result.GetEnd()), result.GetLogDigest()
		}
	})
	if err != nil {
		return err
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
			return err
		}
	}
	var unfinished []int
	for n, planned := range rollouts {
		in := rounds.Of(n)
		if isScored, ended := scored[planned.GetId()]; in < round && !isScored && (ended || bus.Cancelled(control, in)) {
			unfinished = append(unfinished, n)
		}
	}
	return s.bus.BeginRound(ctx, sweepID, rounds, round, unfinished)
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
