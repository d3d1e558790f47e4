package sequential_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/runs/sequential"
)

// follow plays what a design asks for, and returns the numbers in their order by agent. score
// is the score of a rollout.
func follow(d sequential.Design, score func(agent, number int) float64) (played [][]int, scores []sequential.Scores) {
	played, scores = make([][]int, d.Agents), make([]sequential.Scores, d.Agents)
	for agent := range scores {
		scores[agent] = sequential.Scores{}
	}
	for {
		step := d.Next(scores)
		if step.Ended() {
			return played, scores
		}
		for agent, numbers := range step.Rollouts {
			played[agent] = append(played[agent], numbers...)
			for _, n := range numbers {
				scores[agent][n] = score(agent, n)
			}
		}
	}
}

// variants is a design with three variants of each base scenario.
func variants(bases int) sequential.Design {
	d := sequential.Design{Trials: 2, Agents: 2, Decide: true}
	for b := range bases {
		for v := range 3 {
			d.Scenarios = append(d.Scenarios, sequential.Scenario{Name: fmt.Sprintf("%d_%d", b, v), Base: fmt.Sprint(b)})
		}
	}
	return d
}

// TestBreadthFirst plays one variant of each base scenario, then two, then four rollouts, then
// all, each once, and all variants before a second trial.
func TestBreadthFirst(t *testing.T) {
	const bases = 20
	played, scores := follow(variants(bases), func(agent, n int) float64 { return 0.5 + 0.3*float64(agent)*float64(n/6%2*2-1) })
	if diff := cmp.Diff(played[0], played[1]); diff != "" {
		t.Errorf("rollouts of both agents (-first +second):\n%s", diff)
	}
	counts := make(map[int]int)
	trials := make(map[int][2]int)
	for at, n := range played[0] {
		base := n / 6
		counts[base]++
		count := trials[base]
		count[n%2]++
		trials[base] = count
		for _, pass := range []struct{ rollouts, depth int }{{bases, 1}, {2 * bases, 2}, {4 * bases, 4}, {6 * bases, 6}} {
			if at+1 == pass.rollouts {
				for b := range bases {
					if counts[b] != pass.depth {
						t.Errorf("rollouts of base scenario %d after %d: got %d, want %d", b, at+1, counts[b], pass.depth)
					}
				}
			}
		}
		if count[1] > 0 && count[0] < 3 {
			t.Errorf("base scenario %d: got its second trial after %d of 3 variants", base, count[0])
		}
	}
	slices.Sort(played[0])
	if got := slices.Compact(played[0]); len(got) != 6*bases {
		t.Errorf("rollouts: got %d different ones of %d, want all %d once", len(got), len(played[0]), 6*bases)
	}
	result := variants(bases).Result(scores)
	if c := result.Comparisons[0]; c.Outcome != sequential.Exhausted || c.Clusters != bases || c.Rollouts != 6*bases || math.Abs(c.Mean) > 1e-9 || c.Interval.Low >= 0 || c.Interval.High <= 0 {
		t.Errorf("comparison of equal agents: got %+v, want exhausted, around 0", c)
	}
}

// TestClearDifferenceEndsEarly is decided by a few base scenarios, and the loser of three agents
// plays no longer than it has to.
func TestClearDifferenceEndsEarly(t *testing.T) {
	d := variants(100)
	d.Agents = 3
	played, scores := follow(d, func(agent, n int) float64 {
		switch agent {
		case 0:
			return 0.2
		case 1:
			return 0.9
		default:
			return 0.1 + 0.2*float64((n/6+n)%2)
		}
	})
	if len(played[1]) > 48 || len(played[2]) <= len(played[1]) || len(played[0]) != len(played[2]) {
		t.Errorf("rollouts: got %d, %d and %d, want few of the second, and as many of the first as of the third", len(played[0]), len(played[1]), len(played[2]))
	}
	c := d.Result(scores).Comparisons[0]
	if c.Outcome != sequential.Decided || math.Abs(c.Mean-0.7) > 1e-9 || c.Interval.Low <= 0.4 || c.Interval.High < 0.7 {
		t.Errorf("comparison: got %+v, want decided, with 0.7", c)
	}
}

// TestWidth ends when the mean of one agent is known precisely enough.
func TestWidth(t *testing.T) {
	d := variants(100)
	d.Agents, d.Decide, d.Width = 1, false, 0.3
	played, scores := follow(d, func(_, n int) float64 { return float64(n/6%2) / 2 })
	r := d.Result(scores)
	if c := r.Comparisons[0]; c.Outcome != sequential.Precise || c.Interval.Width() > 0.3 || len(played[0]) > 100 {
		t.Errorf("got %+v after %d rollouts, want a precise one after at most 100", c, len(played[0]))
	}
	if r.Comparisons[0].Interval != r.Means[0].Interval {
		t.Errorf("interval: got %v, want that of the mean %v", r.Comparisons[0].Interval, r.Means[0].Interval)
	}
}

// TestAlikeDifferences takes no rounding for a difference of base scenarios: the interval of such
// ones is as wide as that of equal ones, and ends as late.
func TestAlikeDifferences(t *testing.T) {
	d := variants(100)
	d.Decide, d.Width = false, 0.3
	equal, _ := follow(d, func(agent, _ int) float64 { return float64(agent) / 3 })
	played, scores := follow(d, func(agent, n int) float64 { return float64(n/6%3+agent) / 3 })
	c := d.Result(scores).Comparisons[0]
	if len(played[0]) != len(equal[0]) || c.Outcome != sequential.Precise || c.Interval.Width() < 0.2 {
		t.Errorf("got %+v after %d rollouts, want one after %d that is hardly narrower than 0.3", c, len(played[0]), len(equal[0]))
	}
}

// TestMissingScores leaves out pairs without a score, and ends without any.
func TestMissingScores(t *testing.T) {
	d := variants(10)
	_, scores := follow(d, func(int, int) float64 { return math.NaN() })
	c := d.Result(scores).Comparisons[0]
	if c.Outcome != sequential.Exhausted || c.Clusters != 0 || !math.IsNaN(c.Mean) {
		t.Errorf("comparison without scores: got %+v, want exhausted without a mean", c)
	}
	_, scores = follow(d, func(agent, n int) float64 {
		if n/6 == 3 && agent == 1 {
			return math.NaN()
		}
		return 0.5
	})
	if c := d.Result(scores).Comparisons[0]; c.Clusters != 9 || c.Rollouts != 54 {
		t.Errorf("comparison: got %d base scenarios and %d pairs, want 9 and 54", c.Clusters, c.Rollouts)
	}
}

// TestNextDependsOnSeedAndScores gives the same for the same, in any order of play, and another
// order of scenarios for another seed.
func TestNextDependsOnSeedAndScores(t *testing.T) {
	d := variants(40)
	score := func(agent, n int) float64 { return float64((n*7+agent*3)%11) / 10 }
	first, scores := follow(d, score)
	// Later scores are known already: the step is the same.
	for agent := range scores {
		for n := range len(d.Scenarios) * d.Trials {
			scores[agent][n] = score(agent, n)
		}
	}
	if !d.Next(scores).Ended() {
		t.Error("Next with all scores: got rollouts, want none")
	}
	again, _ := follow(d, score)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same design (-first +again):\n%s", diff)
	}
	d.Seed = 1
	if other, _ := follow(d, score); slices.Equal(first[0][:5], other[0][:5]) {
		t.Errorf("another seed: got the same first rollouts %v", other[0][:5])
	}
}
