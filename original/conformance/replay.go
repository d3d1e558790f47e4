package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// sweepTimeout limits the duration of one sweep.
const sweepTimeout = 10 * time.Minute

// mergeTables merges both lists, sorted by table and index.
func mergeTables(starting, later []*worldv1.Table) []*worldv1.Table {
	merged := slices.Concat(starting, later)
	slices.SortStableFunc(merged, func(a, b *worldv1.Table) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetIndex(), b.GetIndex()))
	})
	return merged
}

// replay runs recorded rollouts on all services, in one sweep for each value of compat.
func (r *Runner) replay(ctx context.Context, scenarios scenarioLookup, lines []line) []outcome {
	var outcomes []outcome
	playable := make(map[bool][]*Trajectory)
	for _, l := range lines {
		t, err := decodeTrajectory(scenarios, l)
		if err != nil {
			outcomes = append(outcomes, outcome{line: l.number, differences: errorDifference(err)})
			continue
		}
		selection := t.Scenario.GetSetup().GetTools()
		if tool := r.missing(slices.Concat(selection.GetAllow(), selection.GetDeny())); tool != "" {
			outcomes = append(outcomes, outcome{line: l.number, missing: tool})
			continue
		}
		playable[t.compat] = append(playable[t.compat], t)
	}
	for _, compat := range []bool{false, true} {
		if batch := playable[compat]; len(batch) > 0 {
			outcomes = append(outcomes, r.sweep(ctx, batch, compat)...)
		}
	}
	return outcomes
}

// sweep runs trajectories in one sweep and compares the rollouts with them.
func (r *Runner) sweep(ctx context.Context, batch []*Trajectory, compat bool) []outcome {
	results, err := r.runSweep(ctx, batch, compat)
	outcomes := make([]outcome, len(batch))
	var group errgroup.Group
	group.SetLimit(r.cfg.Parallel)
	for i, t := range batch {
		outcomes[i].line = t.line
		result := results[t.Scenario.GetSetup().GetName()]
		if result == nil {
			outcomes[i].differences = errorDifference(cmp.Or(err, errors.New("no result")))
			continue
		}
		group.Go(func() error {
			outcomes[i].differences = r.compareRollout(ctx, t, result)
			return nil
		})
	}
	_ = group.Wait() // no function fails
	return outcomes
}

// runSweep runs a sweep and returns the results by scenario. With an error it returns the results
// so far.
func (r *Runner) runSweep(ctx context.Context, batch []*Trajectory, compat bool) (map[string]*busv1.Result, error) {
	request := &orchestratorv1.CreateSweepRequest{
		SweepId: fmt.Sprintf("%s-%t", r.id(batch[0].line), compat),
		Spec: &orchestratorv1.SweepSpec{
			Agents:   []*agentgwv1.Player{scripted("agent")},
			Users:    []*agentgwv1.Player{scripted("user")},
			Trials:   1,
			Parallel: int32(r.cfg.Parallel),
			Compat:   compat,
		},
	}
	digests, err := r.putEvaluations(ctx, batch)
	if err != nil {
		return nil, err
	}
	for i, t := range batch {
		request.Spec.Scenarios = append(request.Spec.Scenarios,
			&orchestratorv1.SweepScenario{Setup: t.Scenario.GetSetup(), EvaluationDigest: digests[i]})
	}
	client := orchestratorv1.NewOrchestratorServiceClient(r.services.Orchestrator)
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := client.CreateSweep(bounded, request); err != nil {
		return nil, fmt.Errorf("create sweep: %w", err)
	}
	return watch(ctx, client, request.GetSweepId())
}

// watch watches a sweep until it ends.
func watch(ctx context.Context, client orchestratorv1.OrchestratorServiceClient, sweep string) (map[string]*busv1.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	results := make(map[string]*busv1.Result)
	err := rpc.Follow(ctx, func(ctx context.Context) (grpc.ServerStreamingClient[orchestratorv1.WatchSweepResponse], error) {
		return client.WatchSweep(ctx, &orchestratorv1.WatchSweepRequest{SweepId: sweep})
	}, nil, func(event *orchestratorv1.WatchSweepResponse) error {
		if result := event.GetResult(); result != nil {
			results[result.GetRollout().GetScenario()] = result
		}
		return nil
	})
	if err != nil {
		return results, fmt.Errorf("watch sweep: %w", err)
	}
	return results, nil
}

// scripted returns the player of a scenario's script.
func scripted(name string) *agentgwv1.Player {
	return &agentgwv1.Player{Name: name, Kind: &agentgwv1.Player_Scripted{
		Scripted: &agentgwv1.Scripted{Source: agentgwv1.Scripted_SOURCE_SCENARIO},
	}}
}

func (r *Runner) putEvaluations(ctx context.Context, batch []*Trajectory) ([]string, error) {
	request := &evaluatorv1.PutEvaluationsRequest{}
	for _, t := range batch {
		request.Evaluations = append(request.Evaluations,
			&evaluatorv1.NamedEvaluation{Scenario: t.Scenario.GetSetup().GetName(), Evaluation: t.Scenario.GetEvaluation()})
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := evaluatorv1.NewEvaluatorServiceClient(r.services.Evaluator).PutEvaluations(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("store evaluations: %w", err)
	}
	if len(response.GetDigests()) != len(batch) {
		return nil, fmt.Errorf("store evaluations: %d digests for %d", len(response.GetDigests()), len(batch))
	}
	return response.GetDigests(), nil
}

// compareRollout compares a rollout with the recorded one.
func (r *Runner) compareRollout(ctx context.Context, t *Trajectory, result *busv1.Result) []Difference {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if end := result.GetEnd(); end.GetReason() == busv1.EndReason_END_REASON_INFRASTRUCTURE {
		return errorDifference(errors.New(end.GetDetail()))
	}
	played, err := orchestratorv1.NewOrchestratorServiceClient(r.services.Orchestrator).GetTrajectory(ctx,
		&orchestratorv1.GetTrajectoryRequest{RolloutId: result.GetRollout().GetId()})
	if err != nil {
		return errorDifference(fmt.Errorf("read trajectory: %w", err))
	}
	starting := min(int(played.GetStartingMessages()), len(played.GetMessages()))
	var c comparison
	c.text("exception_type", t.want.ExceptionType, result.GetEnd().GetExceptionType())
	c.messages(t.Messages, played.GetMessages()[starting:])
	c.versions(t.Tables, slices.DeleteFunc(played.GetTables(), func(table *worldv1.Table) bool {
		return int(table.GetIndex()) < starting
	}))
	c.result(&t.want, result)
	return c.differences
}
