package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/access"
	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/plan"
)

// errLowerLimit: a request would lower a spend limit. Budgets of teams add up limits, whatever was
// spent.
var errLowerLimit = errors.New("a spend limit only rises")

// GetSweep implements OrchestratorService.
func (s *server) GetSweep(ctx context.Context, req *orchestratorv1.GetSweepRequest) (*orchestratorv1.GetSweepResponse, error) {
	info, err := s.sweepInfo(ctx, req.GetSweepId())
	if errors.Is(err, bus.ErrNotFound) {
		control, controlErr := s.bus.Control(ctx, req.GetSweepId())
		if controlErr == nil && control.GetDeleted() && access.FromContext(ctx).Owns(control.GetTeam()) {
			info, err = &orchestratorv1.SweepInfo{Id: req.GetSweepId(), Deleted: true}, nil
		}
	}
	detailed := req.GetDetailed() && !info.GetDeleted()
	if err == nil && detailed {
		err = s.backlog(ctx, info.GetId(), info.GetProgress())
	}
	if err == nil && detailed {
		info.Spent, err = s.spendings.of(ctx, s.bus.Recordings, createdSweep{info.GetId(), info.GetCreated().AsTime()})
	}
	if err != nil {
		return nil, statusOf(err)
	}
	return &orchestratorv1.GetSweepResponse{Sweep: info}, nil
}

// UpdateSweep implements OrchestratorService.
func (s *server) UpdateSweep(ctx context.Context, req *orchestratorv1.UpdateSweepRequest) (*orchestratorv1.UpdateSweepResponse, error) {
	info, err := s.updateSweep(ctx, req)
	if err != nil {
		return nil, statusOf(err)
	}
	return &orchestratorv1.UpdateSweepResponse{Sweep: info}, nil
}

func (s *server) updateSweep(ctx context.Context, req *orchestratorv1.UpdateSweepRequest) (*orchestratorv1.SweepInfo, error) {
	info, err := s.sweepInfo(ctx, req.GetSweepId())
	if err != nil {
		return nil, err
	}
	if req.Parallel != nil {
		given := &orchestratorv1.SweepSpec{Parallel: req.GetParallel()}
		if err := checkParallel(ctx, given); err != nil {
			return nil, err
		}
		req = proto.CloneOf(req) // the caller's
		req.Parallel = proto.Int32(parallel(ctx, given))
	}
	ended := info.GetProgress().GetDone() == info.GetProgress().GetTotal()
	raises := req.SpendTokens != nil || req.SpendMicros != nil
	if raises {
		sweep, err := s.bus.Sweep(ctx, req.GetSweepId())
		if err == nil {
			err = s.checkPlayers(ctx, sweep)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.storeChanges(ctx, req, ended); err != nil {
		return nil, err
	}
	if raises {
		if _, err := s.queueMissing(ctx, req.GetSweepId(), func(*busv1.Job) bool { return true }); err != nil {
			return nil, err
		}
	}
	return s.sweepInfo(ctx, req.GetSweepId())
}

// storeChanges stores the changes of a request, if they fit into the budgets of the caller's team.
func (s *server) storeChanges(ctx context.Context, req *orchestratorv1.UpdateSweepRequest, ended bool) error {
	var check func(*busv1.SweepControl) error
	if req.SpendTokens != nil || req.SpendMicros != nil {
		check = s.budgetCheck(ctx, req.GetSweepId())
	}
	var refused error
	err := s.bus.UpdateControlIf(ctx, req.GetSweepId(), func(control *busv1.SweepControl) bool {
		before := proto.CloneOf(control)
		limit := newLimit(control.GetSpendLimit(), req)
		if refused = checkRaised(control.GetSpendLimit(), limit); refused != nil {
			return false
		}
		if req.SpendTokens != nil || req.SpendMicros != nil {
			bus.SetSpendLimit(control, limit)
		}
		if req.Parallel != nil {
			control.Parallel = req.GetParallel()
		}
		last := bus.Rounds(control.GetRounds()).Last()
		if req.Paused != nil && !(req.GetPaused() && (ended || bus.Cancelled(control, last))) {
			control.Paused = req.GetPaused()
		}
		return !proto.Equal(before, control)
	}, check)
	return errors.Join(refused, err)
}

// newLimit returns a spend limit with the changes of a request, nil for none.
func newLimit(limit *agentgwv1.SpendLimit, req *orchestratorv1.UpdateSweepRequest) *agentgwv1.SpendLimit {
	changed := &agentgwv1.SpendLimit{Tokens: limit.GetTokens(), CostMicros: limit.GetCostMicros()}
	if req.SpendTokens != nil {
		changed.Tokens = req.GetSpendTokens()
	}
	if req.SpendMicros != nil {
		changed.CostMicros = req.GetSpendMicros()
	}
	if changed.GetTokens() == 0 && changed.GetCostMicros() == 0 {
		return nil
	}
	return changed
}

// checkRaised returns errLowerLimit if a part of a limit falls. A part that is 0 is no limit.
func checkRaised(before, after *agentgwv1.SpendLimit) error {
	lower := func(before, after int64) bool { return before > 0 && after > 0 && after < before }
	switch {
	case lower(before.GetTokens(), after.GetTokens()):
		return fmt.Errorf("%w: %d tokens given, the sweep has %d: pause or cancel it instead", errLowerLimit, after.GetTokens(), before.GetTokens())
	case lower(before.GetCostMicros(), after.GetCostMicros()):
		return fmt.Errorf("%w: $%.2f given, the sweep has $%.2f: pause or cancel it instead", errLowerLimit,
			float64(after.GetCostMicros())/microsPerDollar, float64(before.GetCostMicros())/microsPerDollar)
	}
	return nil
}

// queueMissing queues the rollouts of a sweep that have neither a result nor a job, and whose jobs
// match, and returns their number.
func (s *server) queueMissing(ctx context.Context, id string, match func(*busv1.Job) bool) (int, error) {
	sweep, err := s.bus.Sweep(ctx, id)
	if err != nil {
		return 0, err
	}
	unscored, err := s.queueUnscored(ctx, id, plan.Expand(sweep), 0, nil)
	if err != nil {
		return 0, err
	}
	jobs := slices.DeleteFunc(unscored, func(job *busv1.Job) bool { return !match(job) })
	return s.bus.EnqueueMissing(ctx, id, jobs)
}

// RequeueSweep implements OrchestratorService.
func (s *server) RequeueSweep(ctx context.Context, req *orchestratorv1.RequeueSweepRequest) (*orchestratorv1.RequeueSweepResponse, error) {
	n, err := s.requeueSweep(ctx, req.GetSweepId())
	if err != nil {
		return nil, statusOf(err)
	}
	info, err := s.sweepInfo(ctx, req.GetSweepId())
	if err != nil {
		return nil, statusOf(err)
	}
	return &orchestratorv1.RequeueSweepResponse{Rollouts: int64(n), Sweep: info}, nil
}

func (s *server) requeueSweep(ctx context.Context, id string) (queued int, err error) {
	sweep, err := s.bus.Sweep(ctx, id)
	if err == nil {
		err = checkSweep(ctx, sweep)
	}
	if err == nil {
		err = s.checkPlayers(ctx, sweep)
	}
	if err != nil {
		return 0, err
	}
	for {
		control, err := s.bus.Control(ctx, id)
		if err != nil {
			return 0, err
		}
		last := bus.Rounds(control.GetRounds()).Last()
		unfinished, err := s.unfinished(ctx, id, plan.Expand(sweep), last+1, control, nil)
		if err != nil {
			return 0, err
		}
		if len(unfinished) > 0 {
			if err = s.bus.BeginRound(ctx, id, control.GetRounds(), last+1, unfinished); errors.Is(err, bus.ErrFenced) {
				continue // another round has begun since
			}
			if last++; err != nil {
				return 0, err
			}
		}
		// Those of the last round, because an earlier call may have begun it and died.
		return s.queueMissing(ctx, id, func(job *busv1.Job) bool { return last > 0 && job.GetRound() == last })
	}
}
