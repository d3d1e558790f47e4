package analysis

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/statistics"
)

// fewScenarios is the number of base scenarios below which a group is marked as small.
const fewScenarios = 10

// Report is the scores of runs by groups of rollouts.
type Report struct {
	Runs []*Run `json:"runs"`
	// PassAt is the least score of a passed rollout.
	PassAt float64 `json:"pass_at"`
	// Groups are by run, in each by variant and category. All scenarios are the last category, and all
	// variants the first variant.
	Groups []Group `json:"groups"`
	// Variance is the shares of the variance of all scores, nil if the runs do not tell them apart.
	Variance *Variance `json:"variance,omitempty"`
	// Cards are the reliability cards of the runs, nil unless AddCards added them.
	Cards []Card `json:"cards,omitempty"`
}

// AllVariants is the variant of a group of all of them.
const AllVariants = "all"

// Group is the rollouts of a run in a category and a variant. Means are over the scored rollouts,
// null without any.
type Group struct {
	// Run is the position of the run in Report.Runs.
	Run      int    `json:"run"`
	Agent    string `json:"agent"`
	User     string `json:"user"`
	Category string `json:"category"`
	Variant  string `json:"variant"`
	// Rollouts is the number of rollouts, Scored of those with a score. Scenarios is the number of
	// base scenarios of the scored ones: the clusters of every interval.
	Rollouts  int `json:"rollouts"`
	Scored    int `json:"scored"`
	Scenarios int `json:"base_scenarios"`
	// Unscored counts the rollouts without a score by the class of their failure, "unknown" for a run
	// of the original.
	Unscored map[string]int `json:"unscored,omitempty"`
	Score    Estimate       `json:"score"`
	// Floors are what agents without a model score in this category, nil for single variants, and if
	// they were not played.
	Floors *results.CategoryFloors `json:"floors,omitempty"`
	// TrialDeviation is the standard deviation of the scores of one scenario's trials, null without
	// several trials of one.
	TrialDeviation *float64 `json:"trial_deviation"`
	// ScenarioShare is the share of the variance of scores between base scenarios. The rest is between
	// the variants and trials of one.
	ScenarioShare *float64 `json:"scenario_share"`
	// Passes has the rates for each number of trials that a scenario has at least.
	Passes []PassRate `json:"passes"`
	Effort Effort     `json:"effort"`
	// UserFlagged is the share of rollouts with a fault of the simulated user, null for scripted
	// users.
	UserFlagged *float64 `json:"user_flagged"`
	// Causes counts the rollouts with each cause.
	Causes map[string]int `json:"causes,omitempty"`
	// UserFaults counts the rollouts in which the simulated user broke each rule.
	UserFaults map[string]int `json:"user_faults,omitempty"`
}

// Estimate is a mean with its precision.
type Estimate struct {
	Mean *float64 `json:"mean"`
	// StandardError is clustered by base scenario, null below two of them and where all have the same
	// mean: it would be 0, which tells nothing.
	StandardError *float64 `json:"standard_error"`
	// Interval is the 95 % interval, null below two base scenarios and where it leaves the range of
	// scores: too few scenarios for it.
	Interval *statistics.Interval `json:"interval"`
	// Small marks an interval of few base scenarios.
	Small bool `json:"small,omitempty"`
}

// PassRate is what k trials of one scenario pass.
type PassRate struct {
	K int `json:"k"`
	// Any is the mean of pass@k over scenarios, All that of pass^k.
	Any Estimate `json:"any"`
	All Estimate `json:"all"`
}

// Effort is the mean effort of a rollout. Tokens and costs are those of the agent's model.
type Effort struct {
	Turns        *float64 `json:"turns"`
	Calls        *float64 `json:"calls"`
	Seconds      *float64 `json:"seconds"`
	InputTokens  *float64 `json:"input_tokens"`
	OutputTokens *float64 `json:"output_tokens"`
	CostUSD      *float64 `json:"cost_usd"`
}

// NewReport groups the rollouts of runs. A rollout passes with a score of at least passAt. The end
// of ctx ends it, with its error.
func NewReport(ctx context.Context, runs []*Run, passAt float64) (*Report, error) {
	report := &Report{Runs: runs, PassAt: passAt, Groups: []Group{}, Variance: varianceOf(runs)}
	for at, run := range runs {
		groups := make(map[[2]string][]rollout)
		variants := make(map[string]bool)
		for _, r := range run.rollouts {
			variants[r.variant] = true
		}
		for _, r := range run.rollouts {
			for _, category := range r.categories {
				groups[[2]string{AllVariants, category}] = append(groups[[2]string{AllVariants, category}], r)
				if len(variants) > 1 {
					groups[[2]string{r.variant, category}] = append(groups[[2]string{r.variant, category}], r)
				}
			}
		}
		for _, key := range slices.SortedFunc(maps.Keys(groups), compareKeys) {
			group := newGroup(ctx, groups[key], passAt)
			group.Run, group.Agent, group.User, group.Variant, group.Category = at, run.Agent, run.User, key[0], key[1]
			group.Floors = run.floors(key[0], key[1])
			report.Groups = append(report.Groups, group)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return report, nil
}

func compareKeys(a, b [2]string) int {
	last := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(last(a[0] != AllVariants), last(b[0] != AllVariants)), cmp.Compare(a[0], b[0]),
		cmp.Compare(last(a[1] == resultfile.AllCategories), last(b[1] == resultfile.AllCategories)), cmp.Compare(a[1], b[1]),
	)
}

func newGroup(ctx context.Context, rollouts []rollout, passAt float64) Group {
	g := Group{Rollouts: len(rollouts), Unscored: make(map[string]int), Causes: make(map[string]int), UserFaults: make(map[string]int)}
	var scores, trials []statistics.Observation
	flagged, checked := 0, 0
	for _, r := range rollouts {
		if r.score == nil {
			g.Unscored[r.failure()]++
			continue
		}
		scores = append(scores, statistics.Observation{Cluster: r.base, Value: *r.score})
		trials = append(trials, statistics.Observation{Cluster: r.scenario, Value: *r.score})
		if r.outcome == nil {
			continue
		}
		if r.userChecked {
			checked++
		}
		if len(r.outcome.UserFlags) > 0 {
			flagged++
		}
		for _, kind := range distinct(r.outcome.Causes, func(c results.Cause) string { return c.Kind }) {
			g.Causes[kind]++
		}
		for _, rule := range distinct(r.outcome.UserFlags, func(f results.UserFlag) string { return f.Rule }) {
			g.UserFaults[rule]++
		}
	}
	g.Scored, g.Scenarios, g.Score = len(scores), statistics.MeanOf(scores).Clusters, estimate(scores)
	if within, ok := statistics.WithinOf(trials); ok {
		g.TrialDeviation = new(math.Sqrt(within))
	}
	if spread, ok := statistics.SpreadOf(scores); ok {
		g.ScenarioShare = new(spread.Share())
	}
	if checked > 0 {
		g.UserFlagged = new(float64(flagged) / float64(checked))
	}
	g.Passes = passes(ctx, rollouts, passAt)
	g.Effort = effort(rollouts)
	return g
}

// floors returns the floors of a variant and a category, nil if they are unknown.
func (r *Run) floors(variant, category string) *results.CategoryFloors {
	switch {
	case r.Floors == nil || variant != AllVariants:
		return nil
	case category == resultfile.AllCategories:
		return &results.CategoryFloors{Idle: r.Floors.Idle, Random: r.Floors.Random, Oracle: r.Floors.Oracle}
	default:
		return r.Floors.Categories[category]
	}
}

// failure returns the class of the failure of a rollout without a score.
func (r rollout) failure() string {
	if r.outcome == nil {
		return "unknown"
	}
	return cmp.Or(r.outcome.FailureClass, r.outcome.End)
}

// distinct returns the different names of items in their order.
func distinct[T any](items []T, name func(T) string) []string {
	var names []string
	for _, item := range items {
		if !slices.Contains(names, name(item)) {
			names = append(names, name(item))
		}
	}
	return names
}

// estimate returns the estimate of a mean score.
func estimate(scores []statistics.Observation) Estimate {
	m := statistics.MeanOf(scores)
	if m.Count == 0 {
		return Estimate{}
	}
	e := Estimate{Mean: new(m.Mean), Small: m.Clusters < fewScenarios}
	if m.StandardError > 0 {
		e.StandardError = new(m.StandardError)
	}
	if interval, _, ok := statistics.ScoreInterval(scores, 0, 1); ok {
		e.Interval = &interval
	}
	return e
}

// passes returns the rates of passes for each number of trials that every scored scenario has, or
// fewer if ctx ends.
func passes(ctx context.Context, rollouts []rollout, passAt float64) []PassRate {
	trials := make(map[string]*statistics.Trials)
	var order []string
	for _, r := range rollouts {
		if r.score == nil {
			continue
		}
		if trials[r.scenario] == nil {
			trials[r.scenario] = &statistics.Trials{Cluster: r.base}
			order = append(order, r.scenario)
		}
		trials[r.scenario].Count++
		if r.passed(passAt) {
			trials[r.scenario].Passed++
		}
	}
	rates := []PassRate{}
	for k := 1; ; k++ {
		var anyOf, allOf []statistics.Observation
		for _, name := range order {
			t := trials[name]
			passed, ok := t.AnyOf(k)
			if !ok {
				return rates
			}
			all, _ := t.AllOf(k)
			anyOf = append(anyOf, statistics.Observation{Cluster: t.Cluster, Value: passed})
			allOf = append(allOf, statistics.Observation{Cluster: t.Cluster, Value: all})
		}
		if len(order) == 0 || ctx.Err() != nil {
			return rates
		}
		rates = append(rates, PassRate{K: k, Any: rate(anyOf), All: rate(allOf)})
	}
}

// rate returns the estimate of a rate: by the cluster bootstrap, and for few base scenarios, or if
// all have the same rate, so that no resample differs, by the exact interval.
func rate(passed []statistics.Observation) Estimate {
	m := statistics.MeanOf(passed)
	e := Estimate{Mean: new(m.Mean), Small: m.Clusters < fewScenarios}
	if m.StandardError > 0 {
		e.StandardError = new(m.StandardError)
	}
	interval, ok := statistics.Bootstrap(passed)
	if !ok || e.Small || m.StandardError == 0 {
		interval = statistics.ExactRate(passed)
	}
	e.Interval = &interval
	return e
}

// effort returns the mean effort of the scored rollouts. A mean is null if no rollout knows it.
// That of tokens or costs is also null if one does not know all of its own, because those that do
// are the shorter ones.
func effort(rollouts []rollout) Effort {
	var turns, calls, seconds, input, output, cost statistics.Average
	for _, r := range rollouts {
		if r.score == nil {
			continue
		}
		turns.Add(float64(r.turns))
		if r.calls != nil {
			calls.Add(float64(*r.calls))
		}
		if r.seconds != nil {
			seconds.Add(*r.seconds)
		}
		if r.outcome == nil || r.outcome.Usage == nil || r.outcome.Usage.Agent == nil {
			continue
		}
		used := r.outcome.Usage.Agent
		if in, out, known := used.Tokens(); known {
			input.Add(float64(in))
			output.Add(float64(out))
		} else {
			input.Miss()
			output.Miss()
		}
		if used.CostUSD != nil {
			cost.Add(*used.CostUSD)
		} else {
			cost.Miss()
		}
	}
	return Effort{Turns: turns.Value(), Calls: calls.Value(), Seconds: seconds.Value(), InputTokens: input.Value(), OutputTokens: output.Value(), CostUSD: cost.Value()}
}
