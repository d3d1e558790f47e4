package analysis

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/statistics"
)

// consistency returns how much the trials of one scenario agree: in outcome, in the tools that
// passed ones call and their order, and in what they use.
func (r *Run) consistency(ctx context.Context, passAt float64) ([]Metric, error) {
	var outcomes, choices, orders, resources []statistics.Observation
	why := noPairOfPassed
	for _, scenario := range r.repeated() {
		at := func(value float64) statistics.Observation {
			return statistics.Observation{Cluster: scenario.base, Value: value}
		}
		trials := statistics.Trials{Count: len(scenario.trials)}
		var passed []rollout
		for _, trial := range scenario.trials {
			if trial.passed(passAt) {
				trials.Passed++
				passed = append(passed, trial)
			}
		}
		if c, ok := trials.Consistency(); ok {
			outcomes = append(outcomes, at(c))
		}
		if s, ok := steadiness(scenario.trials); ok {
			resources = append(resources, at(s))
		}
		if len(passed) < 2 {
			continue
		}
		called, err := r.calledTools(ctx, passed)
		if errors.Is(err, fs.ErrNotExist) {
			why = noTrajectories
			continue
		}
		if err != nil {
			return nil, err
		}
		if choice, ok := statistics.PairMean(called, statistics.ChoiceSimilarity); ok {
			order, _ := statistics.PairMean(called, statistics.OrderSimilarity)
			choices, orders = append(choices, at(choice)), append(orders, at(order))
		}
	}
	return []Metric{
		meanMetric("consistency_outcome", "consistency: outcome", unitScenarios, outcomes, oneTrial),
		meanMetric("consistency_trajectory_distribution", "consistency: tools", unitScenarios, choices, why),
		meanMetric("consistency_trajectory_sequence", "consistency: call order", unitScenarios, orders, why),
		meanMetric("consistency_resource", "consistency: resources", unitScenarios, resources, oneTrial),
	}, nil
}

// failingTools is the category of variants in which calls fail by chance. Their trials differ, so
// they show no consistency of the agent.
const failingTools = "FAILING_TOOLS"

// repeated returns the scenarios with several scored trials under the same conditions, in the order
// of the run.
func (r *Run) repeated() []*scenarioScores {
	scenarios := byScenario(r)
	var all []*scenarioScores
	for _, played := range r.rollouts {
		if s := scenarios[played.scenario]; s != nil && len(s.trials) > 1 && !slices.Contains(s.categories, failingTools) {
			all = append(all, s)
		}
		delete(scenarios, played.scenario)
	}
	return all
}

// calledTools returns the tools that the agent called in each rollout, in their order, without
// rollouts in which it called none.
func (r *Run) calledTools(ctx context.Context, rollouts []rollout) ([][]string, error) {
	var all [][]string
	for _, played := range rollouts {
		if r.reader == nil {
			return nil, fs.ErrNotExist
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		messages, err := r.reader.Messages(played.name)
		if err != nil {
			return nil, report.WithAdvice(r.Directory, err)
		}
		if tools := agentTools(messages); len(tools) > 0 {
			all = append(all, tools)
		}
	}
	return all, nil
}

// codeAction is the name of code among the tools that an agent called.
const codeAction = "code"

// agentTools returns the tools that the agent called.
func agentTools(messages []*worldv1.Message) []string {
	var tools []string
	for _, m := range messages {
		if m.GetSender() != worldv1.Role_ROLE_AGENT || m.GetRecipient() != worldv1.Role_ROLE_EXECUTION_ENVIRONMENT {
			continue
		}
		if call := m.GetCall(); call != nil {
			tools = append(tools, call.GetTool())
		} else {
			tools = append(tools, codeAction)
		}
	}
	return tools
}

// steadiness returns how little trials vary in turns, calls and tokens. Times and costs do not
// count: the former depend on the machine, the latter repeat the tokens. Neither do tokens, if
// those of a trial are not all known.
func steadiness(trials []rollout) (float64, bool) {
	var turns, calls, tokens []float64
	reported := true
	for _, trial := range trials {
		turns = append(turns, float64(trial.turns))
		if trial.calls != nil {
			calls = append(calls, float64(*trial.calls))
		}
		if trial.outcome == nil || trial.outcome.Usage == nil || trial.outcome.Usage.Agent == nil {
			continue
		}
		input, output, known := trial.outcome.Usage.Agent.Tokens()
		tokens, reported = append(tokens, float64(input+output)), reported && known
	}
	if !reported {
		tokens = nil
	}
	return statistics.Steadiness(turns, calls, tokens)
}
