package analysis

import (
	"context"
	"math"
	"slices"

	"github.com/toolsandbox/toolsandbox/runs/statistics"
)

// Card is the reliability of the agent of a run: the twelve metrics of Rabanser et al.
// (arXiv 2602.16666) and two of abstention, from scores, messages and what agents state alone.
type Card struct {
	// Run is the position of the run in Report.Runs.
	Run     int      `json:"run"`
	Agent   string   `json:"agent"`
	User    string   `json:"user"`
	Metrics []Metric `json:"metrics"`
}

// Metric is a metric of reliability, from 0 to 1 for the most reliable agent.
type Metric struct {
	// Name is its name in the harness of the paper, if that has it.
	Name string `json:"name"`
	// Value is null for a metric that is not measurable.
	Value *float64 `json:"value"`
	// Interval is the 95 % interval by base scenarios, null below two of them.
	Interval *statistics.Interval `json:"interval"`
	// Small marks an interval of few base scenarios.
	Small bool `json:"small,omitempty"`
	// Count is the number of what the metric is a mean of, or compares: its Unit, such as scenarios.
	// Scenarios is the number of base scenarios, the clusters of the interval.
	Count     int    `json:"n"`
	Unit      string `json:"unit,omitempty"`
	Scenarios int    `json:"base_scenarios"`
	// NotMeasurable says why there is no value.
	NotMeasurable string `json:"not_measurable,omitempty"`

	title string
}

// What a metric counts.
const (
	unitScenarios = "scenarios"
	unitRollouts  = "rollouts"
	unitPairs     = "pairs"
)

const (
	oneTrial        = "no scenario has two trials with a score"
	noTrajectories  = "the run has no trajectories"
	noPairOfPassed  = "no two trials of a scenario pass with calls"
	noFault         = "no variant failing_tools beside its control"
	noEnvironment   = "no variant with other tools beside its control"
	noPrompt        = "no variant or paraphrase beside its control"
	noControlPassed = "no rollout of the control variants passes"
	noConfidence    = "the agent states no confidence"
	oneOutcome      = "all rollouts pass, or none does"
	noMinefield     = "no scenario has a minefield"
	noViolation     = "no minefield was triggered"
	noInsufficient  = "no minefield where information is missing"
	noCallCount     = "no scenario needs a tool, or calls are unknown"
)

// AddCards adds the reliability card of each run. It reads trajectories. The error is that of ctx,
// or one of the reader for a damaged trajectory.
func (r *Report) AddCards(ctx context.Context) error {
	for i, run := range r.Runs {
		metrics, err := run.reliability(ctx, r.PassAt)
		if err != nil {
			return err
		}
		r.Cards = append(r.Cards, Card{Run: i, Agent: run.Agent, User: run.User, Metrics: metrics})
	}
	return nil
}

// reliability returns the metrics of a run.
func (r *Run) reliability(ctx context.Context, passAt float64) ([]Metric, error) {
	consistency, err := r.consistency(ctx, passAt)
	if err != nil {
		return nil, err
	}
	return slices.Concat(consistency, r.robustness(passAt), r.predictability(passAt), r.safety(), r.abstention()), nil
}

// meanMetric is the mean of values from 0 to 1, with the interval of a rate.
func meanMetric(name, title, unit string, values []statistics.Observation, otherwise string) Metric {
	m := Metric{Name: name, title: title, Unit: unit, Count: len(values)}
	if len(values) == 0 {
		m.Unit, m.NotMeasurable = "", otherwise
		return m
	}
	e := rate(values)
	m.Value, m.Small, m.Scenarios = e.Mean, e.Small, statistics.MeanOf(values).Clusters
	if m.Scenarios > 1 {
		m.Interval = e.Interval
	}
	return m
}

// resample sets the value and the interval of a statistic of clusters. It is not measurable where
// the statistic is NaN.
func (m *Metric) resample(clusters int, statistic func(drawn []float64) float64, otherwise string) {
	once := slices.Repeat([]float64{1}, clusters)
	value := math.NaN()
	if clusters > 0 {
		value = statistic(once)
	}
	if math.IsNaN(value) {
		*m = Metric{Name: m.Name, title: m.title, NotMeasurable: otherwise}
		return
	}
	m.Value, m.Small, m.Scenarios = &value, clusters < fewScenarios, clusters
	if interval, ok := statistics.Resample(clusters, statistic); ok && interval.Width() > rounding {
		m.Interval = &interval
	}
}

// clusterSums adds up numbers by base scenario.
type clusterSums struct {
	number map[string]int
	sums   [][]float64 // by quantity, then cluster
}

func newClusterSums(quantities int) *clusterSums {
	return &clusterSums{number: make(map[string]int), sums: make([][]float64, quantities)}
}

// add adds an amount of each quantity.
func (s *clusterSums) add(base string, amounts ...float64) {
	at, ok := s.number[base]
	if !ok {
		at = len(s.number)
		s.number[base] = at
		for q := range s.sums {
			s.sums[q] = append(s.sums[q], 0)
		}
	}
	for q, amount := range amounts {
		s.sums[q][at] += amount
	}
}

// of returns the sum of a quantity over drawn clusters.
func (s *clusterSums) of(quantity int, drawn []float64) float64 {
	return statistics.Weighted(drawn, s.sums[quantity])
}

// passed reports whether a scored rollout passes.
func (r rollout) passed(passAt float64) bool { return *r.score >= passAt-rounding }
