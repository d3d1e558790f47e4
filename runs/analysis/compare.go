package analysis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/statistics"
)

const (
	// rounding is the largest change that comes from rounding.
	rounding = 1e-9
	// power is the probability with which a run shows the detectable change.
	power = 0.8
)

// Comparison compares runs with a first one, each by the scenarios that both have. The score of a
// scenario is the mean over its scored trials, and each scenario has the same weight.
type Comparison struct {
	// First is the run that the others are compared with.
	First  *Run     `json:"first"`
	Others []Change `json:"others"`
}

// Change is what changed from the first run to another one: its scores minus those of the first.
type Change struct {
	Run *Run `json:"run"`
	// Categories are the changes by category, by name, all scenarios last.
	Categories []CategoryChange `json:"categories"`
	// Better, Equal and Worse count the scenarios by their change.
	Better int `json:"better"`
	Equal  int `json:"equal"`
	Worse  int `json:"worse"`
	// Changed are the scenarios with different scores, by their change.
	Changed []ScenarioChange `json:"changed"`
	// OnlyFirst and OnlySecond are the scenarios with a score in one run only.
	OnlyFirst  []string `json:"only_first"`
	OnlySecond []string `json:"only_second"`
}

// CategoryChange is the change of a category. Its means are over the common scenarios.
type CategoryChange struct {
	Name string `json:"name"`
	// Scenarios is the number of common scenarios, Clusters that of their base scenarios, on which all
	// that follows rests.
	Scenarios int     `json:"scenarios"`
	Clusters  int     `json:"base_scenarios"`
	First     float64 `json:"first"`
	Second    float64 `json:"second"`
	Change    float64 `json:"change"`
	// Interval is the 95 % interval of the change, null below two base scenarios and where it leaves
	// [−1, 1]: too few scenarios for it.
	Interval *statistics.Interval `json:"interval"`
	// P is the p-value of the sign-flip test over base scenarios. Adjusted is adjusted by Holm for all
	// categories besides that of all scenarios, of which it is P.
	P        float64 `json:"p"`
	Adjusted float64 `json:"p_adjusted"`
	// Detectable is the change that as many scenarios show in four of five runs, null below two base
	// scenarios, and if all change alike.
	Detectable *float64 `json:"detectable"`
}

// ScenarioChange is the change of a scenario.
type ScenarioChange struct {
	Name   string  `json:"name"`
	First  float64 `json:"first"`
	Second float64 `json:"second"`
	Change float64 `json:"change"`
	// Milestones are those whose mean similarity changed.
	Milestones []MilestoneChange `json:"milestones"`
	// FirstMinefields and SecondMinefields are the shares of trials that triggered a minefield.
	FirstMinefields  float64 `json:"first_minefields"`
	SecondMinefields float64 `json:"second_minefields"`
	// Parting is where the first scored trials of both runs part, null if they do not, or if a run has
	// no trajectories.
	Parting *Parting `json:"parting"`
}

// MilestoneChange is the change of a milestone's similarity, 0 where it is not matched.
type MilestoneChange struct {
	Milestone int     `json:"milestone"`
	First     float64 `json:"first"`
	Second    float64 `json:"second"`
}

// Compare compares runs with the first of them. A run that has no scenario in common with it is a
// mistake of usage, and the comparison lacks it. There is no comparison with the error of ctx, nor
// with one of the reader for a damaged trajectory.
func Compare(ctx context.Context, runs []*Run) (*Comparison, error) {
	first := byScenario(runs[0])
	c := &Comparison{First: runs[0], Others: []Change{}}
	var apart []error
	for _, run := range runs[1:] {
		second := byScenario(run)
		change := compare(first, second)
		if change.Run = run; change.Better+change.Equal+change.Worse == 0 {
			apart = append(apart, process.UsageErrorf("RUN: %s and %s have no scenario with a score in common", runs[0].Directory, run.Directory))
			continue
		}
		if err := change.findPartings(ctx, runs[0], run, first, second); err != nil {
			return nil, err
		}
		c.Others = append(c.Others, change)
	}
	return c, errors.Join(apart...)
}

// scenarioScores are the scored trials of a scenario.
type scenarioScores struct {
	base       string
	categories []string
	trials     []rollout
}

// byScenario returns the scores of each scenario with a scored trial.
func byScenario(run *Run) map[string]*scenarioScores {
	scenarios := make(map[string]*scenarioScores)
	for _, r := range run.rollouts {
		if r.score == nil {
			continue
		}
		if scenarios[r.scenario] == nil {
			scenarios[r.scenario] = &scenarioScores{base: r.base, categories: r.categories}
		}
		scenarios[r.scenario].trials = append(scenarios[r.scenario].trials, r)
	}
	return scenarios
}

func (s *scenarioScores) mean() float64 {
	sum := 0.0
	for _, r := range s.trials {
		sum += *r.score
	}
	return sum / float64(len(s.trials))
}

// milestones returns the mean similarity of each milestone that a trial matched.
func (s *scenarioScores) milestones() map[int]float64 {
	means := make(map[int]float64)
	for _, r := range s.trials {
		for _, match := range r.milestones {
			similarity, _ := match.Similarity.Number()
			means[match.Node] += similarity / float64(len(s.trials))
		}
	}
	return means
}

// minefields returns the share of trials that triggered a minefield.
func (s *scenarioScores) minefields() float64 {
	triggered := 0
	for _, r := range s.trials {
		if r.minefield {
			triggered++
		}
	}
	return float64(triggered) / float64(len(s.trials))
}

func compare(first, second map[string]*scenarioScores) Change {
	c := Change{Changed: []ScenarioChange{}, OnlyFirst: without(first, second), OnlySecond: without(second, first)}
	categories := make(map[string]*categorySums)
	for _, name := range slices.Sorted(maps.Keys(first)) {
		a, b := first[name], second[name]
		if b == nil {
			continue
		}
		change := ScenarioChange{Name: name, First: a.mean(), Second: b.mean()}
		if change.Change = change.Second - change.First; math.Abs(change.Change) < rounding {
			change.Change = 0
		}
		switch {
		case change.Change > 0:
			c.Better++
		case change.Change < 0:
			c.Worse++
		default:
			c.Equal++
		}
		if change.Change != 0 {
			change.Milestones = milestoneChanges(a.milestones(), b.milestones())
			change.FirstMinefields, change.SecondMinefields = a.minefields(), b.minefields()
			c.Changed = append(c.Changed, change)
		}
		for _, category := range a.categories {
			if categories[category] == nil {
				categories[category] = &categorySums{}
			}
			categories[category].add(a.base, change)
		}
	}
	slices.SortStableFunc(c.Changed, func(a, b ScenarioChange) int { return cmp.Compare(a.Change, b.Change) })
	c.Categories = categoryChanges(categories)
	return c
}

// without returns the scenarios of one run that the other lacks.
func without(run, other map[string]*scenarioScores) []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(run)) {
		if other[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

// milestoneChanges returns the milestones whose mean similarities differ.
func milestoneChanges(first, second map[int]float64) []MilestoneChange {
	changes := []MilestoneChange{}
	all := maps.Clone(first)
	maps.Copy(all, second)
	for _, node := range slices.Sorted(maps.Keys(all)) {
		if math.Abs(first[node]-second[node]) >= rounding {
			changes = append(changes, MilestoneChange{node, first[node], second[node]})
		}
	}
	return changes
}

// categorySums are the scores of a category's common scenarios.
type categorySums struct {
	first, second float64
	changes       []statistics.Observation
}

func (s *categorySums) add(base string, change ScenarioChange) {
	s.first, s.second = s.first+change.First, s.second+change.Second
	s.changes = append(s.changes, statistics.Observation{Cluster: base, Value: change.Change})
}

// categoryChanges returns the changes of categories.
func categoryChanges(sums map[string]*categorySums) []CategoryChange {
	changes := []CategoryChange{}
	var p []float64
	for _, name := range slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return compareKeys([2]string{"", a}, [2]string{"", b}) }) {
		change := sums[name].change()
		change.Name = name
		changes = append(changes, change)
		if name != resultfile.AllCategories {
			p = append(p, change.P)
		}
	}
	for i, adjusted := range statistics.Holm(p) {
		changes[i].Adjusted = adjusted
	}
	return changes
}

func (s *categorySums) change() CategoryChange {
	mean := statistics.MeanOf(s.changes)
	n := float64(mean.Count)
	c := CategoryChange{
		Scenarios: mean.Count, Clusters: mean.Clusters, First: s.first / n, Second: s.second / n, Change: mean.Mean, P: statistics.SignFlip(s.changes),
	}
	c.Adjusted = c.P
	if mean.StandardError > 0 {
		c.Detectable = new(mean.Detectable(power))
	}
	if interval, _, ok := statistics.ScoreInterval(s.changes, -1, 1); ok {
		c.Interval = &interval
	}
	return c
}

// WarnOfDifferences prints what differs between the first run and the others besides the agent.
func (c *Comparison) WarnOfDifferences(stderr io.Writer) error {
	first := c.First.record
	for _, other := range c.Others {
		second := other.Run.record
		if first == nil || second == nil {
			continue
		}
		if first.User.Name != second.User.Name {
			if err := report.Warn(stderr, "the users differ: %s and %s", first.User.Name, second.User.Name); err != nil {
				return err
			}
		}
		if !samePacks(first, second) {
			if err := report.Warn(stderr, "the packs differ: %s and %s may have played other versions of the scenarios", c.First.Directory, other.Run.Directory); err != nil {
				return err
			}
		}
	}
	return nil
}

// samePacks reports whether two runs played scenarios of the same files. A replay does not know
// them, but what it played.
func samePacks(a, b *results.Run) bool {
	if a.Packs == nil || b.Packs == nil {
		return a.Catalogue.Digest == b.Catalogue.Digest
	}
	return slices.EqualFunc(a.Packs, b.Packs, func(a, b results.Pack) bool { return a.Digest == b.Digest })
}

// text names a run.
func (r *Run) text() string {
	if r.Agent == "" {
		return r.Directory
	}
	return fmt.Sprintf("%s, agent %s, user %s", r.Directory, r.Agent, r.User)
}
