package statistics_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/toolsandbox/toolsandbox/runs/statistics"
)

// TestSequenceReference compares what may be looked at repeatedly with another implementation.
func TestSequenceReference(t *testing.T) {
	want := readReference(t)
	for i, c := range want.Bets {
		got := statistics.Betting(c.Draws, c.Low, 1, c.Miss)
		near(t, fmt.Sprintf("bet %d: low", i), got.Low, c.Interval.Low)
		near(t, fmt.Sprintf("bet %d: high", i), got.High, c.Interval.High)
	}
	for i, c := range want.Courses {
		flips, rejected := statistics.NewSignFlips(c.Clusters, 0), -1
		for n, look := range c.Looks {
			if flips.Look(look.Draws, look.Spent) && rejected < 0 {
				rejected = n
			}
		}
		if rejected != c.Rejected {
			t.Errorf("course %d: got rejected at look %d, want %d", i, rejected, c.Rejected)
		}
		interval := flips.Interval(-1, 1)
		near(t, fmt.Sprintf("course %d: low", i), interval.Low, c.Low)
		near(t, fmt.Sprintf("course %d: high", i), interval.High, c.High)
	}
}

// TestBettingCovers looks at an interval after every draw of skewed scores: it misses the mean in
// few runs, whenever anybody looks. Their order does not count (TestBettingWithoutOrder), so draws
// with as many misses have one interval.
func TestBettingCovers(t *testing.T) {
	const runs, draws, mean = 300, 80, 0.9
	random, missed := rand.New(rand.NewPCG(7, 8)), 0
	intervals := make(map[[2]int]statistics.Interval) // by draws and how many of them are 0
	for range runs {
		var scores []float64
		var drawn [2]int
		for range draws {
			score := 1.0
			if random.Float64() < 0.1 {
				score = 0
				drawn[1]++
			}
			drawn[0]++
			scores = append(scores, score)
			i, known := intervals[drawn]
			if !known {
				i = statistics.Betting(scores, 0, 1, 0.05)
				intervals[drawn] = i
			}
			if i.Low > mean || i.High < mean {
				missed++
				break
			}
		}
	}
	if share := float64(missed) / runs; share > 0.05 {
		t.Errorf("got %v of the runs with an interval without the mean, want at most 0.05", share)
	}
}

// TestBettingWithoutOrder has one interval for any order of the draws, and all for none.
func TestBettingWithoutOrder(t *testing.T) {
	scores := []float64{1, 0.25, 1, 0.75, 0, 1, 1, 0.5}
	got := statistics.Betting(scores, 0, 1, 0.05)
	slices.Sort(scores)
	sorted := statistics.Betting(scores, 0, 1, 0.05)
	near(t, "low", sorted.Low, got.Low)
	near(t, "high", sorted.High, got.High)
	if none := statistics.Betting(nil, -1, 1, 0.05); none != (statistics.Interval{Low: -1, High: 1}) {
		t.Errorf("Betting without draws: got %v, want -1 to 1", none)
	}
	many := slices.Repeat([]float64{1}, 100_000)
	if i := statistics.Betting(many, 0, 1, 0.05); !(i.Low > 0.999 && i.High == 1) {
		t.Errorf("Betting on 100,000 scores of 1: got %v, want nearly 1", i)
	}
}

// TestSignFlipsRound gives clusters all signs in turn. Many of their sums are equal but for
// rounding, and their values are replaced. The spent share of signs is rejected at most.
func TestSignFlipsRound(t *testing.T) {
	const clusters, looks, total = 9, 3, 0.4
	first := []float64{0.1, 0.2, 0.3, 0.1, 0.7, 0.6, 0.4, 0.3, 1. / 3}
	var rejected [looks]int
	for signs := range 1 << clusters {
		flips := statistics.NewSignFlips(clusters, 0)
		for look := range looks {
			var draws []statistics.Draw
			for c := range 3 * (look + 1) {
				value := first[c] / float64(1+(look+c)%3)
				if signs>>c&1 == 1 {
					value = -value
				}
				draws = append(draws, statistics.Draw{Cluster: c, Value: value})
			}
			if flips.Look(draws, statistics.Spend(float64(look+1)/looks, total)) {
				rejected[look]++
			}
		}
	}
	for look, count := range rejected {
		if spent := statistics.Spend(float64(look+1)/looks, total); float64(count) > spent*(1<<clusters) {
			t.Errorf("look %d: got %d of %d signs rejected, want at most %v of them", look, count, 1<<clusters, spent)
		}
	}
	if rejected[looks-1] < 100 {
		t.Errorf("got %d signs rejected in the end, want about %v", rejected[looks-1], total*(1<<clusters))
	}
}

// TestSignFlipsReject rejects equal agents in at most the spent share of runs, at any look.
func TestSignFlipsReject(t *testing.T) {
	const runs, clusters, looks = 400, 40, 8
	random, rejected := rand.New(rand.NewPCG(9, 10)), 0
	for run := range runs {
		flips := statistics.NewSignFlips(clusters, int64(run))
		for look := range looks {
			var draws []statistics.Draw
			for c := look * clusters / looks; c < (look+1)*clusters/looks; c++ {
				draws = append(draws, statistics.Draw{Cluster: c, Value: float64(random.IntN(3)-1) / 2})
			}
			if flips.Look(draws, statistics.Spend(float64(look+1)/looks, 0.05)) {
				rejected++
				break
			}
		}
	}
	if share := float64(rejected) / runs; share > 0.075 || share < 0.02 { // 0.05 and 2.3 deviations
		t.Errorf("got %v of the runs rejected, want about 0.05", share)
	}
	flips := statistics.NewSignFlips(3, 0)
	if flips.Look(nil, 0.05) || flips.Interval(-1, 1) != (statistics.Interval{Low: -1, High: 1}) {
		t.Errorf("SignFlips without a draw: got %v, want -1 to 1", flips.Interval(-1, 1))
	}
}
