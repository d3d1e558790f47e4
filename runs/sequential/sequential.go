// Package sequential decides while agents play which rollouts come next, and when enough are
// played: when the difference of two agents is told from 0, or known precisely enough.
//
// The scores of the same rollout of two agents are a pair. What was drawn independently is a
// base scenario, so its pairs count as one draw, their mean difference. The draws come in a
// seeded order. statistics.SignFlips tests after each look whether their signs are chance; its
// error is shared out to all looks that there may be.
//
// Base scenarios come before depth: each first gives a single pair, of one of its variants.
// Once all have, they give two pairs each, then four, until all trials of all variants are
// played.
package sequential

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/toolsandbox/toolsandbox/runs/statistics"
)

const (
	// deepening is how many times as many rollouts of a base scenario the next pass plays.
	deepening = 2
	// leastClusters is the least number of base scenarios of a decision, if there are as many.
	// Agents of which one is often a little better and seldom much worse would be told apart
	// before the first such case.
	leastClusters = 40
	// leastLook is the least number of base scenarios between two looks. A pass has at most
	// mostLooks.
	leastLook, mostLooks = 8, 16
	// rounding is the largest difference that comes from rounding.
	rounding = 1e-9
)

// Design is what may be played, and what for.
type Design struct {
	// Scenarios are the scenarios of the plan, in its order.
	Scenarios []Scenario
	// Trials is the number of rollouts of each scenario by each agent.
	Trials int
	// Agents is the number of agents. Each is compared with the first. A single one has its
	// mean score measured.
	Agents int
	// Seed draws the order of the scenarios and the signs of the test.
	Seed int64
	// Decide ends a comparison when the interval of the difference leaves out 0.
	Decide bool
	// Width ends it when the interval is at most as wide; 0 does not.
	Width float64
}

// Scenario is a scenario of a plan.
type Scenario struct{ Name, Base string }

// Scores are the scores of the played rollouts of an agent, by their number in the plan: that
// of the scenario times Design.Trials, plus the trial. A rollout without a score has NaN, and
// its pair is left out.
type Scores map[int]float64

// Step is the next step of a design.
type Step struct {
	// Rollouts are the numbers of the rollouts that each agent is to play now. All are empty at the
	// end.
	Rollouts [][]int
	// Comparisons are those of each agent but the first, or of a single one.
	Comparisons []Comparison
}

// Ended reports whether there is nothing left to play.
func (s Step) Ended() bool {
	return !slices.ContainsFunc(s.Rollouts, func(rollouts []int) bool { return len(rollouts) > 0 })
}

// Result is what the played rollouts of a design show.
type Result struct {
	// Comparisons are those of each agent but the first, or of a single one.
	Comparisons []Comparison
	// Means are the mean scores of the agents.
	Means []Estimate
}

// Comparison is what the rollouts show of an agent: its scores minus those of the first one.
// For a single agent it is about the scores themselves.
type Comparison struct {
	// Agent is the number of the agent.
	Agent int
	Estimate
	// Outcome is empty while the comparison goes on.
	Outcome Outcome
}

// Estimate is a mean over base scenarios, each of which counts once.
type Estimate struct {
	// Rollouts is the number of rollouts of each agent on which it rests, Clusters that of
	// their base scenarios.
	Rollouts, Clusters int
	// Mean is NaN without a score.
	Mean float64
	// Interval holds the mean with statistics.Confidence at all looks together. So do the
	// intervals of all comparisons together. Only a Result has intervals.
	Interval statistics.Interval
}

// Outcome is why a comparison ended.
type Outcome string

// These are the outcomes.
const (
	// Decided means that the interval leaves out 0.
	Decided Outcome = "decided"
	// Precise means that the interval is as narrow as asked for.
	Precise Outcome = "precise"
	// Exhausted means that all rollouts of the plan are played.
	Exhausted Outcome = "exhausted"
)

// Next returns the next step after the scores of each agent. It is a function of its arguments:
// later scores than those of the rollouts that it asked for do not matter.
func (d Design) Next(scores []Scores) Step {
	w := d.walk(scores)
	step := Step{Rollouts: w.next()}
	for i := range w.compared {
		step.Comparisons = append(step.Comparisons, w.compare(i))
	}
	return step
}

// Result returns what the scores show that Next has asked for so far.
func (d Design) Result(scores []Scores) Result {
	w := d.walk(scores)
	w.next()
	var r Result
	for i := range w.compared {
		c := w.compare(i)
		c.Interval = w.interval(i)
		r.Comparisons = append(r.Comparisons, c)
	}
	for agent := range w.reached {
		r.Means = append(r.Means, w.mean(agent))
	}
	return r
}

// walk goes through the looks at a design.
type walk struct {
	Design
	scores []Scores
	// clusters are the numbers of the rollouts of each base scenario, in the order of their turns.
	clusters [][]int
	// depths are the numbers of rollouts of each base scenario that the passes play.
	depths []int
	look   int
	// compared are the agents that are compared, outcomes why they were, and reached how far
	// each agent has come.
	compared []int
	outcomes []Outcome
	reached  []reach
	// flips are the tests of the comparisons.
	flips []*statistics.SignFlips
}

// reach is the last look of an agent: the pass, and its number of base scenarios.
type reach struct{ pass, clusters int }

func (d Design) walk(scores []Scores) *walk {
	w := &walk{Design: d, scores: scores, clusters: d.clusters(), reached: make([]reach, d.Agents)}
	most := 0
	for _, rollouts := range w.clusters {
		most = max(most, len(rollouts))
	}
	for depth := 1; depth < most; depth *= deepening {
		w.depths = append(w.depths, depth)
	}
	w.depths = append(w.depths, most)
	w.look = max(leastLook, (len(w.clusters)+mostLooks-1)/mostLooks)
	for agent := min(1, d.Agents-1); agent < d.Agents; agent++ {
		w.compared = append(w.compared, agent)
		if d.Agents > 1 {
			w.flips = append(w.flips, statistics.NewSignFlips(len(w.clusters), d.Seed))
		}
	}
	w.outcomes = make([]Outcome, len(w.compared))
	return w
}

// next goes on to the first look whose rollouts are not all played, and returns those.
func (w *walk) next() [][]int {
	for pass, depth := range w.depths {
		for from := 0; from < len(w.clusters); from += w.look {
			to := min(from+w.look, len(w.clusters))
			if rollouts, some := w.missing(w.clusters[from:to], depth); some {
				return rollouts
			}
			if w.inspect(from, reach{pass, to}) {
				return make([][]int, w.Agents)
			}
		}
	}
	for i := range w.outcomes {
		if w.outcomes[i] == "" {
			w.outcomes[i] = Exhausted
		}
	}
	return make([][]int, w.Agents)
}

// clusters returns the numbers of the rollouts of each base scenario: both in an order that
// follows from the seed, all variants before the next trial.
func (d Design) clusters() [][]int {
	digests := make([][sha256.Size]byte, len(d.Scenarios))
	bases := make(map[string][sha256.Size]byte)
	for i, s := range d.Scenarios {
		digests[i] = sha256.Sum256(fmt.Append(nil, d.Seed, " variant ", s.Name))
		bases[s.Base] = sha256.Sum256(fmt.Append(nil, d.Seed, " base ", s.Base))
	}
	order := make([]int, len(d.Scenarios))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := bases[d.Scenarios[i].Base], bases[d.Scenarios[j].Base]
		if a != b {
			return bytes.Compare(a[:], b[:])
		}
		return bytes.Compare(digests[i][:], digests[j][:])
	})
	var clusters [][]int
	for variants := range chunksBy(order, func(i, j int) bool { return d.Scenarios[i].Base == d.Scenarios[j].Base }) {
		var rollouts []int
		for trial := range d.Trials {
			for _, scenario := range variants {
				rollouts = append(rollouts, scenario*d.Trials+trial)
			}
		}
		clusters = append(clusters, rollouts)
	}
	return clusters
}

// chunksBy yields the longest parts whose neighbours belong together.
func chunksBy(all []int, together func(i, j int) bool) func(func([]int) bool) {
	return func(yield func([]int) bool) {
		from := 0
		for i := range all {
			if i+1 == len(all) || !together(all[i], all[i+1]) {
				if !yield(all[from : i+1]) {
					return
				}
				from = i + 1
			}
		}
	}
}

// plays reports whether an agent is in a comparison that goes on.
func (w *walk) plays(agent int) bool {
	for i, other := range w.compared {
		if w.outcomes[i] == "" && (agent == 0 || agent == other) {
			return true
		}
	}
	return false
}

// missing returns the rollouts that agents have not played of base scenarios at a depth.
func (w *walk) missing(clusters [][]int, depth int) (rollouts [][]int, some bool) {
	rollouts = make([][]int, w.Agents)
	for agent := range rollouts {
		if !w.plays(agent) {
			continue
		}
		for _, cluster := range clusters {
			for _, rollout := range cluster[:min(depth, len(cluster))] {
				if _, played := w.scores[agent][rollout]; !played {
					rollouts[agent], some = append(rollouts[agent], rollout), true
				}
			}
		}
	}
	return rollouts, some
}

// inspect looks at the comparisons that go on, and reports whether none does any more.
func (w *walk) inspect(from int, at reach) (ended bool) {
	for agent := range w.reached {
		if w.plays(agent) {
			w.reached[agent] = at
		}
	}
	ended = true
	for i := range w.compared {
		if w.outcomes[i] != "" {
			continue
		}
		differs := w.Agents > 1 && w.differs(i, from, at)
		switch {
		case w.Decide && differs:
			w.outcomes[i] = Decided
		case w.Width > 0 && w.interval(i).Width() <= w.Width:
			w.outcomes[i] = Precise
		default:
			ended = false
		}
	}
	return ended
}

// differs looks at the base scenarios of a comparison that have come since the last look, and
// reports whether 0 is rejected.
func (w *walk) differs(i, from int, at reach) bool {
	var draws []statistics.Draw
	for c, cluster := range w.clusters[from:at.clusters] {
		if mean, scored := meanOf(cluster, w.depths[at.pass], w.score(i)); scored > 0 {
			draws = append(draws, statistics.Draw{Cluster: from + c, Value: mean})
		}
	}
	spent := statistics.Spend(w.information(at), w.error())
	if at.pass == 0 && at.clusters < min(leastClusters, len(w.clusters)) {
		spent = 0
	}
	return w.flips[i].Look(draws, spent)
}

// information returns the part of all information that is there at a look, if the differences of
// base scenarios and those of rollouts of one vary alike.
func (w *walk) information(at reach) float64 {
	of := func(pass int) float64 {
		if pass < 0 {
			return 0
		}
		depth, most := float64(w.depths[pass]), float64(w.depths[len(w.depths)-1])
		return depth / (1 + depth) * (1 + most) / most
	}
	before := of(at.pass - 1)
	return before + (of(at.pass)-before)*float64(at.clusters)/float64(len(w.clusters))
}

// compare returns what the last look of a comparison shows, without its interval.
func (w *walk) compare(i int) Comparison {
	score := w.score(i)
	if w.Agents == 1 {
		score = func(rollout int) float64 { return w.scoreOf(0, rollout) }
	}
	return Comparison{Agent: w.compared[i], Outcome: w.outcomes[i], Estimate: w.estimate(w.reached[w.compared[i]], score)}
}

// interval returns the interval of a comparison. Signs do not tell how much base scenarios
// differ that are all alike so far: then it is that of bets.
func (w *walk) interval(i int) statistics.Interval {
	if w.Agents == 1 {
		return w.mean(0).Interval
	}
	last := w.reached[w.compared[i]]
	draws, _ := means(w.clusters[:last.clusters], w.depths[last.pass], w.score(i))
	if len(draws) > 0 && slices.Max(draws)-slices.Min(draws) < rounding {
		return statistics.Betting(draws, -1, 1, w.error())
	}
	return w.flips[i].Interval(-1, 1)
}

// error returns the probability of an error that a comparison has.
func (w *walk) error() float64 { return (1 - statistics.Confidence) / float64(len(w.compared)) }

// score returns the function from a rollout to its difference in a comparison, NaN without one.
func (w *walk) score(i int) func(rollout int) float64 {
	return func(rollout int) float64 { return w.scoreOf(w.compared[i], rollout) - w.scoreOf(0, rollout) }
}

// scoreOf returns the score of a rollout, NaN without one.
func (w *walk) scoreOf(agent, rollout int) float64 {
	if score, played := w.scores[agent][rollout]; played {
		return score
	}
	return math.NaN()
}

// mean returns the mean score of an agent. The interval is what those of all passes have in
// common. Each pass has its own part of the error: the first half of it, the next a quarter,
// and so on.
func (w *walk) mean(agent int) Estimate {
	score := func(rollout int) float64 { return w.scoreOf(agent, rollout) }
	last := w.reached[agent]
	e := w.estimate(last, score)
	e.Interval = statistics.Interval{Low: 0, High: 1}
	miss := 1 - statistics.Confidence
	for pass := 0; pass <= last.pass; pass++ {
		clusters := w.clusters
		if pass == last.pass {
			clusters = clusters[:last.clusters]
		}
		if pass < len(w.depths)-1 {
			miss /= 2
		}
		draws, _ := means(clusters, w.depths[pass], score)
		found := statistics.Betting(draws, 0, 1, miss)
		common := statistics.Interval{Low: max(e.Interval.Low, found.Low), High: min(e.Interval.High, found.High)}
		if common.Low > common.High { // one of them misses the mean
			common = found
		}
		e.Interval = common
	}
	return e
}

// estimate returns the mean of scores up to a look, each base scenario at its depth, without an
// interval.
func (w *walk) estimate(last reach, score func(rollout int) float64) Estimate {
	draws, rollouts := means(w.clusters[:last.clusters], w.depths[last.pass], score)
	if last.pass > 0 {
		rest, more := means(w.clusters[last.clusters:], w.depths[last.pass-1], score)
		draws, rollouts = append(draws, rest...), rollouts+more
	}
	e := Estimate{Clusters: len(draws), Rollouts: rollouts, Mean: math.NaN()}
	if len(draws) > 0 {
		e.Mean = stat.Mean(draws, nil)
	}
	return e
}

// means returns the mean score of each base scenario with a score at a depth.
func means(clusters [][]int, depth int, score func(rollout int) float64) (draws []float64, rollouts int) {
	for _, cluster := range clusters {
		if mean, scored := meanOf(cluster, depth, score); scored > 0 {
			draws, rollouts = append(draws, mean), rollouts+scored
		}
	}
	return draws, rollouts
}

// meanOf returns the mean score of a base scenario at a depth, and the number of its scores.
func meanOf(cluster []int, depth int, score func(rollout int) float64) (mean float64, scored int) {
	for _, rollout := range cluster[:min(depth, len(cluster))] {
		if s := score(rollout); !math.IsNaN(s) {
			mean, scored = mean+s, scored+1
		}
	}
	return mean / float64(scored), scored
}
