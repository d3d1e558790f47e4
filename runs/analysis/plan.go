package analysis

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/statistics"
)

// usual is the spread of the change of scores between two agents where no run tells it.
var usual = statistics.Spread{Between: 0.25 * 0.25, Within: 0.2 * 0.2}

// Plan says how many rollouts show a change.
type Plan struct {
	// Detect is the change of the mean score, Power the probability with which it shows.
	Detect float64 `json:"detect"`
	Power  float64 `json:"power"`
	// Between and Within are the standard deviations of the change between base scenarios and between
	// the trials of one. From says where they come from.
	Between float64 `json:"between"`
	Within  float64 `json:"within"`
	From    string  `json:"from"`
	// Designs are by the number of trials. One that would need more than a million base scenarios is
	// missing.
	Designs []Design `json:"designs"`
}

// Design is a number of base scenarios, each played a number of times by each of two agents.
type Design struct {
	Trials    int `json:"trials"`
	Scenarios int `json:"base_scenarios"`
	// Rollouts is the number of rollouts of both agents. CostUSD is their cost, null if unknown.
	Rollouts int      `json:"rollouts"`
	CostUSD  *float64 `json:"cost_usd"`
}

// NewPlan plans the comparison of two agents. Of two runs it takes the spread of their changes. Of
// one run it takes that of the scores: as if the change varied as much between scenarios as the
// scores do, and two agents had independent trials.
func NewPlan(detect, power float64, runs []*Run) (*Plan, error) {
	switch {
	case !(detect > 0 && detect <= 1):
		return nil, process.UsageErrorf("--detect: %v given, expected more than 0 and at most 1", detect)
	case !(power > 0.5 && power < 1):
		return nil, process.UsageErrorf("--power: %v given, expected more than 0.5 and less than 1", power)
	case len(runs) > 2:
		return nil, process.UsageErrorf("RUN: %d runs given, expected at most 2", len(runs))
	}
	spread, from, err := spreadOf(runs)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Detect: detect, Power: power, Between: math.Sqrt(spread.Between), Within: math.Sqrt(spread.Within), From: from, Designs: []Design{}}
	cost := costOf(runs)
	for _, trials := range []int{1, 2, 4, 8} {
		scenarios, ok := spread.ClustersFor(detect, power, trials)
		if !ok {
			continue
		}
		design := Design{Trials: trials, Scenarios: scenarios, Rollouts: 2 * trials * scenarios}
		if cost != nil {
			design.CostUSD = new(*cost * float64(design.Rollouts))
		}
		plan.Designs = append(plan.Designs, design)
	}
	return plan, nil
}

// spreadOf returns the spread of the change between two agents, by the trials of scenarios.
func spreadOf(runs []*Run) (spread statistics.Spread, from string, err error) {
	var changes []statistics.Observation
	agents := 2.0 // whose trials vary independently
	switch len(runs) {
	case 0:
		return usual, "what is usual among small models", nil
	case 1:
		from = "the scores of " + runs[0].Directory
		for _, r := range runs[0].rollouts {
			if r.score != nil {
				changes = append(changes, statistics.Observation{Cluster: r.base, Value: *r.score})
			}
		}
	default:
		from = "the changes from " + runs[0].Directory + " to " + runs[1].Directory
		agents = 1
		first, second := byScenario(runs[0]), byScenario(runs[1])
		for _, name := range slices.Sorted(maps.Keys(first)) {
			a, b := first[name], second[name]
			if b == nil {
				continue
			}
			scores := make(map[string]float64)
			for _, played := range a.trials {
				scores[played.trial()] = *played.score
			}
			for _, played := range b.trials {
				if before, ok := scores[played.trial()]; ok {
					changes = append(changes, statistics.Observation{Cluster: a.base, Value: *played.score - before})
				}
			}
		}
	}
	spread, ok := statistics.SpreadOf(changes)
	if !ok {
		return statistics.Spread{}, "", process.UsageErrorf("RUN: %s do not tell trials from scenarios: expected two base scenarios or more, and two trials or variants of one", from)
	}
	if spread.Between+spread.Within == 0 {
		return statistics.Spread{}, "", process.UsageErrorf("RUN: %s are all equal: no number of scenarios follows", from)
	}
	spread.Within *= agents
	return spread, from, nil
}

// trial is the end of the rollout's name that tells its trial, the first one in a run of one.
func (r rollout) trial() string {
	return cmp.Or(strings.TrimPrefix(r.name, r.scenario), results.TrialSuffix(0))
}

// costOf returns the mean cost of a rollout of all runs, nil if one does not know it.
func costOf(runs []*Run) *float64 {
	var all statistics.Average
	for _, run := range runs {
		cost := effort(run.rollouts).CostUSD
		if cost == nil {
			return nil
		}
		all.Add(*cost)
	}
	return all.Value()
}

// Write writes the plan for a person.
func (p *Plan) Write(w io.Writer) error {
	t := output.NewNumbers(table.Row{"trials", "base scenarios", "rollouts", "USD"})
	for _, d := range p.Designs {
		t.Append(table.Row{d.Trials, d.Scenarios, d.Rollouts, digits(d.CostUSD, 2)})
	}
	from := fmt.Sprintf("by %s: deviation %.3f between base scenarios, %.3f between trials", p.From, p.Between, p.Within)
	change := fmt.Sprintf("a change of %v with a probability of %.0f %%", p.Detect, 100*p.Power)
	if len(p.Designs) == 0 {
		return writeSections(w, formatText, []section{{notes: []string{"a million base scenarios do not show " + change, from}}})
	}
	return writeSections(w, formatText, []section{{notes: []string{"to show " + change + ", two agents play"}}, {table: t, notes: []string{from}}})
}
