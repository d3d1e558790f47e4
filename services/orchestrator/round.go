package orchestrator

import (
	"context"
	"errors"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// missing begins a round, unless it has begun or is 0, and returns the jobs of all rollouts that have no result in the round they
// are in.
func (s *server) missing(ctx context.Context, sweepID string, rollouts []*busv1.Rollout, round int32) ([]*busv1.Job, error) {
	rounds, err := s.bus.Rounds(ctx, sweepID)
	for err == nil && !rounds.Begun(round) {
		if err = s.begin(ctx, sweepID, rollouts, round, rounds); err != nil && !errors.Is(err, bus.ErrFenced) {
			return nil, err
		}
		rounds, err = s.bus.Rounds(ctx, sweepID)
	}
	if err != nil {
		return nil, err
	}
	finished := make(map[string]bool)
	err = s.bus.ResultIDs(ctx, sweepID, func(id string, round int32) {
		if round == rounds.OfID(id) {
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

// begin begins a round with all rollouts that an earlier one left without a score. Rollouts without a result are still to be played in
// the round they are in, unless that is cancelled. bus.ErrFenced means that a round has begun since rounds were read.
func (s *server) begin(ctx context.Context, sweepID string, rollouts []*busv1.Rollout, round int32, rounds bus.Rounds) error {
	cancelled, err := s.bus.Cancelled(ctx, sweepID)
	if err != nil {
		return err
	}
	scored := make(map[string]bool)
	err = s.bus.Results(ctx, sweepID, func(result *busv1.Result) {
		if id := result.GetRollout().GetId(); result.GetRound() == rounds.OfID(id) {
			scored[id] = !unscored(result.GetEnd().GetReason())
		}
	})
	if err != nil {
		return err
	}
	var again []int
	for n, rollout := range rollouts {
		in := rounds.Of(n)
		if isScored, ended := scored[rollout.GetId()]; in < round && !isScored && (ended || in <= cancelled) {
			again = append(again, n)
		}
	}
	return s.bus.BeginRound(ctx, sweepID, rounds, round, again)
}

// unscored says whether a rollout that ended so says nothing about its players.
func unscored(reason busv1.EndReason) bool {
	return reason == busv1.EndReason_END_REASON_INFRASTRUCTURE || reason == busv1.EndReason_END_REASON_CANCELLED
}

// finished counts the rollouts that have a result in the round they are in.
func (s *server) finished(ctx context.Context, sweepID string, rounds bus.Rounds) (n int64, err error) {
	err = s.bus.ResultIDs(ctx, sweepID, func(id string, round int32) {
		if round == rounds.OfID(id) {
			n++
		}
	})
	return n, err
}
