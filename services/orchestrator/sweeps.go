package orchestrator

import (
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/plan"
)

// defaultPageSize is the default page size.
const defaultPageSize = 100

// CancelSweep implements OrchestratorService.
func (s *server) CancelSweep(ctx context.Context, req *orchestratorv1.CancelSweepRequest) (*orchestratorv1.CancelSweepResponse, error) {
	info, err := s.sweepInfo(ctx, req.GetSweepId())
	if err != nil {
		return nil, statusOf(err)
	}
	if progress := info.GetProgress(); progress.GetDone() == progress.GetTotal() {
		return &orchestratorv1.CancelSweepResponse{Sweep: info}, nil
	}
	rounds, err := s.bus.Rounds(ctx, req.GetSweepId())
	if err != nil {
		return nil, statusOf(err)
	}
	if err := s.bus.CancelSweep(ctx, req.GetSweepId(), rounds.Last()); err != nil {
		return nil, statusOf(err)
	}
	info, err = s.sweepInfo(ctx, req.GetSweepId())
	if err != nil {
		return nil, statusOf(err)
	}
	return &orchestratorv1.CancelSweepResponse{Sweep: info}, nil
}

// ListSweeps implements OrchestratorService.
func (s *server) ListSweeps(ctx context.Context, req *orchestratorv1.ListSweepsRequest) (*orchestratorv1.ListSweepsResponse, error) {
	ids, err := s.bus.SweepIDs(ctx)
	if err != nil {
		return nil, statusOf(err)
	}
	slices.Sort(ids)
	from, _ := slices.BinarySearchFunc(ids, req.GetPageToken(), func(id, token string) int {
		if id <= token {
			return -1
		}
		return strings.Compare(id, token)
	})
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultPageSize
	}
	response := &orchestratorv1.ListSweepsResponse{}
	for _, id := range ids[from:] {
		if len(response.GetSweeps()) == size {
			response.NextPageToken = response.GetSweeps()[size-1].GetId()
			break
		}
		info, err := s.sweepInfo(ctx, id)
		if errors.Is(err, bus.ErrNotFound) { // another team's, or its plan is foreign or was just removed
			continue
		}
		if err != nil {
			return nil, statusOf(err)
		}
		response.Sweeps = append(response.Sweeps, info)
	}
	return response, nil
}

func (s *server) sweepInfo(ctx context.Context, id string) (*orchestratorv1.SweepInfo, error) {
	sweep, created, err := s.bus.Plan(ctx, id)
	if err == nil {
		err = checkSweep(ctx, sweep)
	}
	if err != nil {
		return nil, err
	}
	control, err := s.bus.Control(ctx, id)
	if err != nil {
		return nil, err
	}
	rounds := bus.Rounds(control.GetRounds())
	info := &orchestratorv1.SweepInfo{
		Id: id, Progress: &orchestratorv1.SweepProgress{Total: int64(plan.Size(sweep))}, Created: timestamppb.New(created),
		Agents: names(sweep.GetAgents()), Users: names(sweep.GetUsers()),
	}
	if control.GetDeleted() {
		return &orchestratorv1.SweepInfo{Id: id, Deleted: true, Progress: &orchestratorv1.SweepProgress{}}, nil
	}
	info.Exhausted, info.Paused, info.Round = control.GetExhausted(), control.GetPaused(), rounds.Last()
	info.Parallel, info.SpendLimit = control.GetParallel(), control.GetSpendLimit()
	info.Progress.Paused = control.GetPaused()
	if !bus.Cancelled(control, rounds.Last()) {
		info.Progress.Done, err = s.finished(ctx, sweep, rounds)
		return info, err
	}
	info.Progress.Done, err = s.endedByThemselves(ctx, sweep, rounds)
	info.Cancelled = info.GetProgress().GetDone() < info.GetProgress().GetTotal()
	return info, err
}

// endedByThemselves counts the rollouts of a sweep with a result in their round that no
// cancellation ended. It reads the results.
func (s *server) endedByThemselves(ctx context.Context, sweep *busv1.Sweep, rounds bus.Rounds) (int64, error) {
	ended := make(map[string]bool)
	err := s.bus.VisitResults(ctx, sweep.GetId(), func(result *busv1.Result) {
		if isCurrent(sweep, rounds, result) && result.GetEnd().GetReason() != busv1.EndReason_END_REASON_CANCELLED {
			ended[result.GetRollout().GetId()] = true
		}
	})
	return int64(len(ended)), err
}

// names returns the names of players.
func names(players []*agentgwv1.Player) []string {
	names := make([]string, len(players))
	for i, player := range players {
		names[i] = player.GetName()
	}
	return names
}
