package sequential_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/toolsandbox/toolsandbox/runs/sequential"
	"github.com/toolsandbox/toolsandbox/runs/statistics"
)

var simulations = flag.Int("simulations", 40, "simulated sweeps of each kind")

// table are scores of a built-in scenario.
type table struct {
	Scenario string
	Idle     float64
	// Random are the scores of eight trials of the random agent.
	Random []float64
}

func tables(t *testing.T) []table {
	t.Helper()
	data, err := os.ReadFile("testdata/scores.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []table
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// population draws the scores of two agents on one base scenario: a function that draws those
// of a rollout. Its true mean difference is known.
type population struct {
	name string
	// first is the mean score of the first agent, difference that of the second minus it.
	first, difference float64
	draw              func(random *rand.Rand) func() (a, b float64)
}

// solver returns an agent that solves a scenario with a probability, and else does as the random
// agent does.
func solver(random *rand.Rand, scenario table, solves float64) func() float64 {
	return func() float64 {
		if random.Float64() < solves {
			return 1
		}
		return scenario.Random[random.IntN(len(scenario.Random))]
	}
}

// populations are built on the score tables. shift is what the second agent solves more.
func populations(all []table, shift float64) []population {
	pick := func(random *rand.Rand) table { return all[random.IntN(len(all))] }
	failed := 0.0 // the mean score of the random agent
	for _, s := range all {
		for _, score := range s.Random {
			failed += score / float64(len(all)*len(s.Random))
		}
	}
	// skill is how often both agents solve a scenario: most either mostly or hardly ever.
	skill := func(random *rand.Rand) float64 {
		if random.Float64() < 0.6 {
			return 0.75 + 0.25*random.Float64()*(1-4*shift)
		}
		return 0.2 * random.Float64()
	}
	skilled := 0.6*(0.75+0.125*(1-4*shift)) + 0.4*0.1
	solved := skilled + (1-skilled)*failed
	gain := shift * (1 - failed)
	return []population{
		{"two like agents", solved, gain, func(random *rand.Rand) func() (float64, float64) {
			s, p := pick(random), skill(random)
			a, b := solver(random, s, p), solver(random, s, p+shift)
			return func() (float64, float64) { return a(), b() }
		}},
		{"agents of different strengths", solved, gain, func(random *rand.Rand) func() (float64, float64) {
			s, p, q := pick(random), skill(random), skill(random)
			a, b := solver(random, s, p), solver(random, s, q+shift)
			return func() (float64, float64) { return a(), b() }
		}},
		{"agents that answer alike each time", solved, gain, func(random *rand.Rand) func() (float64, float64) {
			s, p := pick(random), skill(random)
			a := solver(random, s, p)()
			b := a
			if random.Float64() < 0.3 {
				b = solver(random, s, p)()
			}
			if random.Float64() < shift/(1-skilled) && a < 1 {
				b = 1
			}
			return func() (float64, float64) { return a, b }
		}},
		{"random agent twice", failed, 0, func(random *rand.Rand) func() (float64, float64) {
			s := pick(random)
			a, b := solver(random, s, 0), solver(random, s, 0)
			return func() (float64, float64) { return a(), b() }
		}},
		{"often a little better, seldom much worse", 0.9, 0, func(random *rand.Rand) func() (float64, float64) {
			if random.Float64() < 0.05 {
				return func() (float64, float64) { return 0.95, 0 }
			}
			return func() (float64, float64) { return (0.9 - 0.05*0.95) / 0.95, 0.9 / 0.95 }
		}},
	}
}

// sweep is a simulated sweep: the scores of two agents, by base scenario.
func sweep(random *rand.Rand, p population, clusters, rollouts int) (scores []sequential.Scores, observed [2][]statistics.Observation) {
	scores = []sequential.Scores{{}, {}}
	for c := range clusters {
		draw, name := p.draw(random), fmt.Sprint(c)
		for r := range rollouts {
			a, b := draw()
			scores[0][c*rollouts+r], scores[1][c*rollouts+r] = a, b
			observed[0] = append(observed[0], statistics.Observation{Cluster: name, Value: a})
			observed[1] = append(observed[1], statistics.Observation{Cluster: name, Value: b})
		}
	}
	return scores, observed
}

func differences(observed [2][]statistics.Observation) []statistics.Observation {
	changes := slices.Clone(observed[1])
	for i := range changes {
		changes[i].Value -= observed[0][i].Value
	}
	return changes
}

func design(clusters, rollouts int, seed int64) sequential.Design {
	d := sequential.Design{Trials: rollouts, Agents: 2, Decide: true, Seed: seed}
	for c := range clusters {
		d.Scenarios = append(d.Scenarios, sequential.Scenario{Name: fmt.Sprint(c), Base: fmt.Sprint(c)})
	}
	return d
}

// each calls f for many sweeps. It starts no goroutine, since with the race detector the sweeps
// would take six times as long.
func each(n int, f func(random *rand.Rand, at int)) {
	for i := range n {
		f(rand.New(rand.NewPCG(uint64(i), 43)), i)
	}
}

func share(of []bool) float64 {
	n := 0
	for _, yes := range of {
		if yes {
			n++
		}
	}
	return float64(n) / float64(len(of))
}

// limits of what simulations may show, with room for that many of them.
func room(limit float64, n int) float64 { return 4 * math.Sqrt(limit*(1-limit)/float64(n)) }

// fixedPower is the power of the fixed design: all rollouts of as many base scenarios, and the
// interval of compare.
func fixedPower(p population, clusters, rollouts, n int) float64 {
	found := make([]bool, n)
	each(n, func(random *rand.Rand, i int) {
		_, observed := sweep(random, p, clusters, rollouts)
		interval, _ := statistics.MeanOf(differences(observed)).Interval()
		found[i] = interval.Low > 0
	})
	return share(found)
}

// fixedClusters is the least number of base scenarios at which the fixed design has a power of
// 0.8.
func fixedClusters(p population, rollouts, n int) int {
	low, high := 4, 400
	for low+1 < high {
		if middle := (low + high) / 2; fixedPower(p, middle, rollouts, n) >= power {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// sequentialPower is the power of a design, and its mean number of rollouts of each agent.
func sequentialPower(p population, clusters, rollouts, n int) (power, used float64) {
	found, sum := make([]bool, n), make([]float64, n)
	each(n, func(random *rand.Rand, i int) {
		scores, _ := sweep(random, p, clusters, rollouts)
		comparison := design(clusters, rollouts, int64(i)).Next(scores).Comparisons[0]
		found[i], sum[i] = comparison.Outcome == sequential.Decided && comparison.Mean > 0, float64(comparison.Rollouts)
	})
	for _, rollouts := range sum {
		used += rollouts / float64(n)
	}
	return share(found), used
}

const (
	power = 0.8
	// bases is the number of base scenarios, about that of the built-in catalogue.
	bases = 120
)

// TestLongSimulatedErrors plays agents of equal means until their comparison is decided: few are,
// and the intervals of their means hold them. Those of compare, which is not made for that, are
// logged.
func TestLongSimulatedErrors(t *testing.T) {
	for _, rollouts := range []int{1, 4} {
		for kind, p := range populations(tables(t), 0) {
			n := *simulations
			decided, covered, plain, fixed := make([]bool, n), make([]bool, n), make([]bool, n), make([]bool, n)
			each(n, func(random *rand.Rand, i int) {
				scores, observed := sweep(random, p, bases, rollouts)
				d := design(bases, rollouts, int64(i))
				change, _ := statistics.MeanOf(differences(observed)).Interval()
				fixed[i] = change.Low > 0 || change.High < 0
				decided[i] = d.Next(scores).Comparisons[0].Outcome == sequential.Decided
				interval := d.Means(scores)[0].Interval
				covered[i] = interval.Low <= p.first && p.first <= interval.High
				var used []statistics.Observation
				for c, numbers := range d.Used(scores, 0) {
					for _, number := range numbers {
						used = append(used, statistics.Observation{Cluster: fmt.Sprint(c), Value: scores[0][number]})
					}
				}
				interval, _ = statistics.MeanOf(used).Interval()
				plain[i] = interval.Low <= p.first && p.first <= interval.High
			})
			t.Logf("%s, %d rollouts of each of %d: decided %.4f, by compare after all %.4f; mean in its interval %.4f, in that of report %.4f",
				p.name, rollouts, bases, share(decided), share(fixed), share(covered), share(plain))
			if limit := 0.05; kind < symmetric && share(decided) > limit+room(limit, n) {
				t.Errorf("%s, %d rollouts: got %v decided, want at most 0.05", p.name, rollouts, share(decided))
			}
			if limit := 0.94; share(covered) < limit-room(limit, n) {
				t.Errorf("%s, %d rollouts: got %v intervals with the mean, want at least 0.94", p.name, rollouts, share(covered))
			}
		}
	}
}

// symmetric is the number of the populations with differences that are symmetric.
const symmetric = 4

// TestSimulatedSavings compares the rollouts of the fixed design and of a sequential one with
// the same power, or if it takes more base scenarios for that, with as many.
func TestSimulatedSavings(t *testing.T) {
	n := *simulations / 4
	for _, c := range []struct {
		rollouts int
		most     [3]float64 // by population
	}{
		{1, [3]float64{1, 0.95, 1}},
		{4, [3]float64{1.1, 0.65, 0.55}},
		{8, [3]float64{1.1, 0.6, 0.5}},
	} {
		for kind, p := range populations(tables(t), 0.15)[:3] {
			fixed := fixedClusters(p, c.rollouts, n)
			clusters := fixed
			var found, used float64
			for {
				if found, used = sequentialPower(p, clusters, c.rollouts, n); found >= power || clusters > 2*fixed {
					break
				}
				clusters += (fixed + 19) / 20
			}
			saved := used / float64(fixed*c.rollouts)
			t.Logf("%s, a difference of %.3f, %d rollouts of each: fixed %d base scenarios; sequential at most %d, power %.3f, %.0f rollouts, %.2f of %d",
				p.name, p.difference, c.rollouts, fixed, clusters, found, used, saved, fixed*c.rollouts)
			if saved > c.most[kind] {
				t.Errorf("%s, %d rollouts: got %.2f of the rollouts of the fixed design, want at most %.2f", p.name, c.rollouts, saved, c.most[kind])
			}
		}
	}
}
