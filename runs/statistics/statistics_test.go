package statistics_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/toolsandbox/toolsandbox/runs/statistics"
)

// reference is what scipy and statsmodels say, printed by testdata/reference.py.
type reference struct {
	Cases []struct {
		Clusters      []string
		Values, Rates []float64
		Clustered     struct {
			Mean          float64
			StandardError float64 `json:"standard_error"`
			Low, High     float64
		}
		Exact    statistics.Interval
		SignFlip *float64 `json:"sign_flip"`
	}
	Ties []struct {
		Differences []float64
		P           float64
	}
	Passes []struct {
		Count, Passed, K int
		Any, All         float64
	}
	P, Holm []float64
	Bets    []struct {
		Draws     []float64
		Low, Miss float64
		Interval  statistics.Interval
	}
	Courses []struct {
		Clusters int
		Looks    []struct {
			Draws []statistics.Draw
			Spent float64
		}
		Rejected  int
		Low, High float64
	}
	Quantiles []struct {
		P        float64
		Clusters int
		Quantile float64
	}
}

func observations(clusters []string, values []float64) []statistics.Observation {
	var all []statistics.Observation
	for i, v := range values {
		all = append(all, statistics.Observation{Cluster: clusters[i], Value: v})
	}
	return all
}

// near compares with a relative tolerance of 1e-9.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func readReference(t *testing.T) reference {
	t.Helper()
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var want reference
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

func TestReference(t *testing.T) {
	want := readReference(t)
	for i, c := range want.Cases {
		name := fmt.Sprintf("case %d: ", i)
		mean := statistics.MeanOf(observations(c.Clusters, c.Values))
		interval, ok := mean.Interval()
		if !ok {
			t.Errorf("%sno interval", name)
		}
		near(t, name+"mean", mean.Mean, c.Clustered.Mean)
		near(t, name+"standard error", mean.StandardError, c.Clustered.StandardError)
		near(t, name+"low", interval.Low, c.Clustered.Low)
		near(t, name+"high", interval.High, c.Clustered.High)
		rate := statistics.ExactRate(observations(c.Clusters, c.Rates))
		near(t, name+"low rate", rate.Low, c.Exact.Low)
		near(t, name+"high rate", rate.High, c.Exact.High)
		if c.SignFlip != nil {
			near(t, name+"sign flip", statistics.SignFlip(observations(c.Clusters, c.Values)), *c.SignFlip)
		}
	}
	for _, p := range want.Passes {
		trials := statistics.Trials{Count: p.Count, Passed: p.Passed}
		name := fmt.Sprintf("%d of %d, %d: ", p.Passed, p.Count, p.K)
		anyOf, _ := trials.AnyOf(p.K)
		allOf, _ := trials.AllOf(p.K)
		near(t, name+"any", anyOf, p.Any)
		near(t, name+"all", allOf, p.All)
	}
	for i, adjusted := range statistics.Holm(want.P) {
		near(t, fmt.Sprint("Holm ", i), adjusted, want.Holm[i])
	}
	for _, q := range want.Quantiles {
		// Detectable with a power of 1/2 leaves the quantile of the interval alone.
		m := statistics.Mean{Clusters: q.Clusters, StandardError: 1}
		near(t, fmt.Sprintf("quantile %v of %d", q.P, q.Clusters), m.Detectable(q.P)-m.Detectable(0.5), q.Quantile)
	}
}

// TestTiedSigns has signs that give the observed total in another order of adding: they count.
func TestTiedSigns(t *testing.T) {
	for i, c := range readReference(t).Ties {
		var differences []statistics.Observation
		for cluster, d := range c.Differences {
			differences = append(differences, statistics.Observation{Cluster: fmt.Sprint(cluster), Value: d})
		}
		near(t, fmt.Sprintf("case %d of %d clusters", i, len(differences)), statistics.SignFlip(differences), c.P)
	}
}

// TestDrawnSigns compares drawn signs with all of them, by clusters of 0 that make the same sums.
func TestDrawnSigns(t *testing.T) {
	var few []statistics.Observation
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 18 {
		few = append(few, statistics.Observation{Cluster: fmt.Sprint(i), Value: random.NormFloat64() + 0.4})
	}
	many := few
	for i := range 10 {
		many = append(many, statistics.Observation{Cluster: fmt.Sprint("zero ", i)})
	}
	exact, drawn := statistics.SignFlip(few), statistics.SignFlip(many)
	if math.Abs(exact-drawn) > 0.005 || drawn == exact {
		t.Errorf("SignFlip: got %v drawn, want about %v", drawn, exact)
	}
	if again := statistics.SignFlip(many); again != drawn {
		t.Errorf("SignFlip: got %v and %v for the same differences", drawn, again)
	}
}

// TestIntervalsCover draws runs of known mean: intervals contain it as often as they say.
func TestIntervalsCover(t *testing.T) {
	const runs, scenarios, trials = 1000, 30, 4
	random := rand.New(rand.NewPCG(3, 4))
	var means, bootstraps int
	for range runs {
		var scores []statistics.Observation
		for s := range scenarios {
			scenario := random.NormFloat64()
			for range trials {
				scores = append(scores, statistics.Observation{Cluster: fmt.Sprint(s), Value: scenario + random.NormFloat64()})
			}
		}
		if i, _ := statistics.MeanOf(scores).Interval(); i.Low <= 0 && i.High >= 0 {
			means++
		}
		if i, _ := statistics.Bootstrap(scores); i.Low <= 0 && i.High >= 0 {
			bootstraps++
		}
	}
	if share := float64(means) / runs; share < 0.935 || share > 0.965 {
		t.Errorf("intervals with the mean: got %v, want about 0.95", share)
	}
	if share := float64(bootstraps) / runs; share < 0.92 || share > 0.965 {
		t.Errorf("bootstrap intervals with the mean: got %v, want about 0.95", share)
	}
}

// TestClustersFor plans for a spread that it estimates, and finds the planned power.
func TestClustersFor(t *testing.T) {
	const trials, power, difference = 2, 0.8, 0.15
	random := rand.New(rand.NewPCG(5, 6))
	draw := func(clusters int, mean float64) []statistics.Observation {
		var all []statistics.Observation
		for c := range clusters {
			at := mean + 0.3*random.NormFloat64()
			for range trials {
				all = append(all, statistics.Observation{Cluster: fmt.Sprint(c), Value: at + 0.4*random.NormFloat64()})
			}
		}
		return all
	}
	spread, ok := statistics.SpreadOf(draw(5000, 0))
	if !ok || math.Abs(spread.Between-0.09) > 0.01 || math.Abs(spread.Within-0.16) > 0.01 || math.Abs(spread.Share()-0.36) > 0.03 {
		t.Fatalf("SpreadOf: got %+v, want about 0.09 between and 0.16 within", spread)
	}
	clusters, ok := statistics.Spread{Between: 0.09, Within: 0.16}.ClustersFor(difference, power, trials)
	if !ok {
		t.Fatal("ClustersFor: too many")
	}
	found := 0
	const runs = 1000
	for range runs {
		if i, _ := statistics.MeanOf(draw(clusters, difference)).Interval(); i.Low > 0 {
			found++
		}
	}
	if share := float64(found) / runs; share < power-0.04 || share > power+0.05 {
		t.Errorf("%d clusters detect the difference in %v of runs, want %v", clusters, share, power)
	}
	if _, ok := (statistics.Spread{Between: 1}).ClustersFor(1e-5, power, 1); ok {
		t.Error("ClustersFor: got a number of clusters for a difference that none shows")
	}
}

// TestEqualScores has base scenarios that are all alike, also but for rounding: their standard
// error of 0 tells nothing.
func TestEqualScores(t *testing.T) {
	repeated := func(clusters int, values ...float64) []statistics.Observation {
		var all []statistics.Observation
		for c := range clusters {
			for _, v := range values {
				all = append(all, statistics.Observation{Cluster: fmt.Sprint(c), Value: v})
			}
		}
		return all
	}
	for _, c := range []struct {
		scores    []statistics.Observation
		low, mean float64
		by        statistics.Method
		want      statistics.Interval // of bets by betting in testdata/reference.py
	}{
		{repeated(12, 0.5), 0, 0.5, statistics.Bets, statistics.Interval{Low: 0.31906192741425765, High: 0.6809380725857423}},
		{repeated(12, 1.0/3, 1, 0.5, 0.5), 0, 7.0 / 12, statistics.Bets, statistics.Interval{Low: 0.37223891531663394, High: 0.7341150604881186}},
		{repeated(12, 0, 1), 0, 0.5, statistics.Bets, statistics.Interval{Low: 0.31906192741425765, High: 0.6809380725857423}},
		{repeated(12, 0.1), 0, 0.1, statistics.Bets, statistics.Interval{Low: 0.06381238548285151, High: 0.4256885306543362}},
		{repeated(12, 0), -1, 0, statistics.Bets, statistics.Interval{Low: -0.3618761451714847, High: 0.3618761451714847}},
		{repeated(12, 2.0/3-1.0/3, 1-2.0/3), -1, 1.0 / 3, statistics.Bets, statistics.Interval{Low: -0.14916819356197952, High: 0.5745840967809897}},
		{repeated(2, 1), 0, 1, statistics.ClopperPearson, statistics.Interval{Low: math.Sqrt(0.025), High: 1}},
		{repeated(2, 0), 0, 0, statistics.ClopperPearson, statistics.Interval{Low: 0, High: 1 - math.Sqrt(0.025)}},
		{repeated(2, 1), -1, 1, statistics.ClopperPearson, statistics.Interval{Low: 2*math.Sqrt(0.025) - 1, High: 1}},
	} {
		if m := statistics.MeanOf(c.scores); m.StandardError != 0 {
			t.Errorf("standard error of %v: got %v, want 0", c.scores[:2], m.StandardError)
		}
		i, by, ok := statistics.ScoreInterval(c.scores, c.low, 1)
		if !ok || by != c.by || i.Low > c.mean || i.High < c.mean || !i.Within(c.low, 1) {
			t.Errorf("interval of %v: got %v by %v, %v", c.scores[:2], i, by, ok)
		}
		near(t, "low", i.Low, c.want.Low)
		near(t, "high", i.High, c.want.High)
	}
}

// TestTooFew has too few observations for an interval.
func TestTooFew(t *testing.T) {
	one := []statistics.Observation{{Cluster: "a", Value: 1}, {Cluster: "a", Value: 0}}
	for _, scores := range [][]statistics.Observation{nil, one} {
		if _, ok := statistics.MeanOf(scores).Interval(); ok {
			t.Errorf("Interval of %v: got one", scores)
		}
		if _, ok := statistics.Bootstrap(scores); ok {
			t.Errorf("Bootstrap of %v: got one", scores)
		}
		if !math.IsNaN(statistics.MeanOf(scores).Detectable(0.8)) {
			t.Errorf("Detectable of %v: got a number", scores)
		}
		if _, ok := statistics.SpreadOf(scores); ok {
			t.Errorf("SpreadOf %v: got one", scores)
		}
	}
	if i := statistics.ExactRate(nil); i != (statistics.Interval{Low: 0, High: 1}) {
		t.Errorf("ExactRate of nothing: got %v, want 0 to 1", i)
	}
	if within, ok := statistics.WithinOf(one); !ok || within != 0.5 {
		t.Errorf("WithinOf %v: got %v and %t, want 0.5", one, within, ok)
	}
	if _, ok := statistics.WithinOf(one[:1]); ok {
		t.Error("WithinOf one observation: got one")
	}
	if _, ok := (statistics.Trials{Count: 2, Passed: 1}).AnyOf(3); ok {
		t.Error("AnyOf three of two trials: got a number")
	}
	if p := statistics.SignFlip(nil); p != 1 {
		t.Errorf("SignFlip of nothing: got %v, want 1", p)
	}
	if i := statistics.ExactRate([]statistics.Observation{{Cluster: "a", Value: 1}, {Cluster: "b", Value: 1}, {Cluster: "c", Value: 1}}); i.High != 1 || i.Low < 0.25 || i.Low > 0.35 {
		t.Errorf("ExactRate of three passes: got %v, want 0.29 to 1", i)
	}
}
