package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

const (
	// maxFloorScenarios is the number of scenarios beyond which floors are played on request only.
	maxFloorScenarios = 400
	// leastFloorRollouts is the least number of rollouts of a floor: few scenarios are played several
	// times, since the random agent's score varies.
	leastFloorRollouts = 30

	idleAgent, randomAgent, oracleAgent = "unhelpful", "random", "oracle"
)

func optionalBool() optional[bool] { return optional[bool]{kind: "bool", parse: strconv.ParseBool} }

// checkFloors rejects --floors where floors cannot be played.
func (o *Options) checkFloors(spec sweep.Spec) error {
	if why := o.noFloors(spec); why != "" && o.floors.or(false) {
		return process.UsageErrorf("--floors: %s", why)
	}
	return nil
}

// noFloors says why floors cannot be played, "" if they can.
func (o *Options) noFloors(spec sweep.Spec) string {
	switch {
	case o.installation.Network.Remote:
		return "they are not played with --remote"
	case spec.Recording != nil:
		return "they are not played with --replay"
	case spec.Fork != nil:
		return "they are not played with --fork"
	case spec.Compat:
		return "they are not played with --compat"
	case sweep.HasToolServers(spec.Scenarios):
		return "they are not played where tools are those of a server"
	case slices.ContainsFunc(spec.Scenarios, isRecord):
		return "they are not played on records of EuroEval"
	default:
		return ""
	}
}

// wantsFloors reports whether to play floors: where they are asked for, or where they take little
// of the run's time, because a model or a program plays few scenarios. hint says that only the
// number of scenarios is against it.
func (o *Options) wantsFloors(spec sweep.Spec) (wanted, hint bool) {
	if o.noFloors(spec) != "" {
		return false, false
	}
	if o.floors.value != nil {
		return *o.floors.value, false
	}
	external := slices.ContainsFunc(slices.Concat(spec.Agents, spec.Users), func(p *agentgwv1.Player) bool {
		return p.GetModel() != nil || p.GetPlugin() != nil && !atTerminal(p)
	})
	few := len(spec.Scenarios) <= maxFloorScenarios
	return external && few, external && !few
}

// playFloors plays the floors of a finished run on services of its own and records them, unless a
// resumed or replayed run has them. A failure is a warning, since the run itself has its results.
func (o *Options) playFloors(ctx context.Context, stderr io.Writer, collector *collector) error {
	spec, totals := collector.spec, collector.record.Totals
	wanted, hint := o.wantsFloors(spec)
	switch {
	case o.replayed != nil && o.replayed.Totals != nil:
		totals.Floors = o.replayed.Totals.Floors
	case totals.Floors != nil || totals.Scored == 0:
		return nil
	case hint:
		_, err := fmt.Fprintf(stderr, "--resume --floors also plays an idle agent, a random one and the oracle on these %d scenarios\n", len(spec.Scenarios))
		return err
	case !wanted:
		return nil
	default:
		floors, err := floorsOf(ctx, stderr, spec.Scenarios)
		if err != nil {
			return report.Warn(stderr, "the floors of these scenarios are unknown: %v", err)
		}
		totals.Floors = floors
	}
	return results.WriteRun(collector.directory.path, collector.record)
}

// floorsOf plays the agents that need no model, the oracle only if all scenarios have a solution.
// The result is a function of the scenarios.
func floorsOf(ctx context.Context, stderr io.Writer, scenarios []*scenariov1.Scenario) (*results.Floors, error) {
	spec := sweep.Spec{Scenarios: scenarios, Trials: (max(leastFloorRollouts, len(scenarios)) + len(scenarios) - 1) / len(scenarios)}
	names := []string{idleAgent, randomAgent}
	if !slices.ContainsFunc(scenarios, func(s *scenariov1.Scenario) bool { return len(s.GetSetup().GetOracleScript()) == 0 }) {
		names = append(names, oracleAgent)
	}
	for _, name := range names {
		agent, err := player.Parse(worldv1.Role_ROLE_AGENT, name)
		if err != nil {
			return nil, err
		}
		spec.Agents = append(spec.Agents, agent)
	}
	user, err := player.Parse(worldv1.Role_ROLE_USER, "scripted")
	if err != nil {
		return nil, err
	}
	spec.Users = []*agentgwv1.Player{user}
	scores := make(map[string]*busv1.Result) // in the order of the plan, so that the means do not vary
	err = standalone.WithTemporary(ctx, standalone.DefaultConfig(), "warn", stderr, func(ctx context.Context, node *rpc.Node) error {
		prepared, err := sweep.Prepare(ctx, node.Conn(rpc.Orchestrator), node.Conn(rpc.Evaluator), spec)
		if err != nil {
			return err
		}
		if _, err := prepared.Create(ctx); err != nil {
			return err
		}
		return prepared.Watch(ctx, nil, func(result *busv1.Result) error {
			scores[result.GetRollout().GetId()] = result
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return sumFloors(scenarios, scores)
}

// sumFloors returns the floors of scored rollouts, by id.
func sumFloors(scenarios []*scenariov1.Scenario, scores map[string]*busv1.Result) (*results.Floors, error) {
	categories := make(map[string][]string)
	for _, s := range scenarios {
		categories[s.GetSetup().GetName()] = resultfile.CountedCategories(s.GetSetup().GetCategories())
	}
	sums := make(map[string]*results.CategoryFloors)
	for _, id := range slices.SortedFunc(maps.Keys(scores), func(a, b string) int { return results.PlanNumber(a) - results.PlanNumber(b) }) {
		result := scores[id]
		if !resultfile.Scored(result) {
			continue
		}
		for _, category := range categories[result.GetRollout().GetScenario()] {
			if sums[category] == nil {
				sums[category] = &results.CategoryFloors{}
			}
			floorOf(sums[category], result.GetRollout().GetAgent().GetName()).Add(result.GetSimilarity())
		}
	}
	whole := sums[resultfile.AllCategories]
	if whole == nil || whole.Idle.Rollouts == 0 || whole.Random.Rollouts == 0 {
		return nil, errors.New("no rollout has a score")
	}
	delete(sums, resultfile.AllCategories)
	return &results.Floors{Scenarios: len(scenarios), Idle: whole.Idle, Random: whole.Random, Oracle: whole.Oracle, Categories: sums}, nil
}

// floorOf returns the floor of an agent.
func floorOf(floors *results.CategoryFloors, agent string) *results.Floor {
	switch agent {
	case idleAgent:
		return &floors.Idle
	case randomAgent:
		return &floors.Random
	}
	if floors.Oracle == nil {
		floors.Oracle = &results.Floor{}
	}
	return floors.Oracle
}
