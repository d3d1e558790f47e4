package statistics_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/toolsandbox/toolsandbox/runs/statistics"
)

// reliabilityReference is what scipy, scikit-learn, statsmodels and numpy say, printed by
// testdata/reliability.py.
type reliabilityReference struct {
	Forecasts []struct {
		Confidence                         []float64
		Passed                             []bool
		Calibration, Discrimination, Brier float64
	}
	Pairs []struct {
		A, B   []string
		Choice float64
	}
	Used       [][]float64
	Steadiness float64
	Designs    []struct {
		Rows []struct {
			Scenario, Agent, User string
			Y                     float64
		}
		Parts     []string
		Variances []float64
	}
}

func readReliability(t *testing.T) reliabilityReference {
	t.Helper()
	data, err := os.ReadFile("testdata/reliability.json")
	if err != nil {
		t.Fatal(err)
	}
	var want reliabilityReference
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

func TestReliabilityReference(t *testing.T) {
	want := readReliability(t)
	for i, f := range want.Forecasts {
		var all []statistics.Forecast
		for j, confidence := range f.Confidence {
			all = append(all, statistics.Forecast{Cluster: fmt.Sprint(j % 7), Probability: confidence, Passed: f.Passed[j]})
		}
		forecasts := statistics.NewForecasts(all)
		once := slices.Repeat([]float64{1}, forecasts.Clusters())
		near(t, fmt.Sprint("calibration ", i), forecasts.Calibration(once), f.Calibration)
		near(t, fmt.Sprint("discrimination ", i), forecasts.Discrimination(once), f.Discrimination)
		near(t, fmt.Sprint("Brier ", i), forecasts.Brier(once), f.Brier)
	}
	for _, p := range want.Pairs {
		near(t, fmt.Sprintf("choices of %v and %v", p.A, p.B), statistics.ChoiceSimilarity(p.A, p.B), p.Choice)
	}
	got, ok := statistics.Steadiness(append(want.Used, []float64{0, 0, 0, 0, 0})...)
	near(t, "steadiness", got, want.Steadiness)
	if !ok {
		t.Error("steadiness: got none")
	}
}

// TestComponents compares with Henderson's method I by matrices, and on balanced data with the mean
// squares of an analysis of variance.
func TestComponents(t *testing.T) {
	for i, d := range readReliability(t).Designs {
		var rows []statistics.Crossed
		var scores []statistics.Observation
		for _, row := range d.Rows {
			rows = append(rows, statistics.Crossed{Levels: []string{row.Scenario, row.Agent, row.User}, Value: row.Y})
			scores = append(scores, statistics.Observation{Cluster: row.Scenario, Value: row.Y})
		}
		c, ok := statistics.ComponentsOf(rows)
		if !ok {
			t.Fatalf("design %d: no components", i)
		}
		got := map[string]float64{"scenario": c.Factors[0], "agent": c.Factors[1], "user": c.Factors[2], "together": c.Together}
		for j, part := range d.Parts {
			near(t, fmt.Sprintf("design %d, %s", i, part), got[part], max(d.Variances[j], 0))
			delete(got, part)
		}
		near(t, fmt.Sprintf("design %d, within", i), c.Within, d.Variances[len(d.Parts)])
		for part, v := range got {
			if !math.IsNaN(v) {
				t.Errorf("design %d, %s: got %v, want none", i, part, v)
			}
		}
		if len(d.Parts) == 1 {
			spread, _ := statistics.SpreadOf(scores)
			near(t, "between", c.Factors[0], spread.Between)
			near(t, "within", c.Within, spread.Within)
		}
	}
}

// TestNoComponents has designs that do not tell factors apart.
func TestNoComponents(t *testing.T) {
	row := func(value float64, levels ...string) statistics.Crossed {
		return statistics.Crossed{Levels: levels, Value: value}
	}
	for name, rows := range map[string][]statistics.Crossed{
		"nothing":                       nil,
		"one level":                     {row(1, "a", "x"), row(0, "a", "x")},
		"one observation of each":       {row(1, "a", "x"), row(0, "b", "x")},
		"an agent with a user each":     {row(1, "a", "x"), row(0, "a", "x"), row(0.5, "b", "y"), row(0, "b", "y")},
		"scenarios of a single agent's": {row(1, "a", "x"), row(0, "b", "y")},
	} {
		if c, ok := statistics.ComponentsOf(rows); ok {
			t.Errorf("%s: got %+v", name, c)
		}
	}
}

// TestSimilarities has the ends of the scales, and sequences of which the distance is known.
func TestSimilarities(t *testing.T) {
	abc := []string{"a", "b", "c"}
	for _, test := range []struct {
		a, b          []string
		order, choice float64
	}{
		{abc, abc, 1, 1},
		{abc, []string{"c", "b", "a"}, 1 - 2./3, 1},
		{abc, []string{"x"}, 0, 0},
		{abc, []string{"a", "b", "c", "c"}, 0.75, statistics.ChoiceSimilarity(abc, []string{"a", "b", "c", "c"})},
		{[]string{"k", "i", "t", "t", "e", "n"}, []string{"s", "i", "t", "t", "i", "n", "g"}, 1 - 3./7, statistics.ChoiceSimilarity([]string{"k", "i", "t", "t", "e", "n"}, []string{"s", "i", "t", "t", "i", "n", "g"})},
	} {
		near(t, fmt.Sprintf("order of %v and %v", test.a, test.b), statistics.OrderSimilarity(test.a, test.b), test.order)
		near(t, fmt.Sprintf("choice of %v and %v", test.a, test.b), statistics.ChoiceSimilarity(test.a, test.b), test.choice)
	}
	if got := statistics.ChoiceSimilarity(abc, slices.Repeat(abc, 11)); got != 1 {
		t.Errorf("choice of the same shares: got %v, want 1", got)
	}
	if got := statistics.OrderSimilarity(nil, nil); got != 1 {
		t.Errorf("order of nothing: got %v, want 1", got)
	}
	for passed, want := range []float64{1, 0.25, 0, 0.25, 1} {
		got, _ := statistics.Trials{Count: 4, Passed: passed}.Consistency()
		near(t, fmt.Sprint("consistency of ", passed, " of 4"), got, want)
	}
	if _, ok := (statistics.Trials{Count: 1}).Consistency(); ok {
		t.Error("consistency of one trial: got one")
	}
	if _, ok := statistics.PairMean([][]string{abc}, statistics.OrderSimilarity); ok {
		t.Error("pairs of one: got a mean")
	}
	if _, ok := statistics.Steadiness([]float64{0, 0}, []float64{3}); ok {
		t.Error("steadiness of nothing: got one")
	}
}

// TestResample has the same interval each time, and none where a statistic is mostly undefined.
func TestResample(t *testing.T) {
	values := []float64{0.1, 0.4, 0.2, 0.9, 0.5}
	mean := func(drawn []float64) float64 { return statistics.Weighted(drawn, values) / 5 }
	first, ok := statistics.Resample(5, mean)
	if again, _ := statistics.Resample(5, mean); !ok || again != first || first.Width() <= 0 {
		t.Errorf("Resample: got %v and %v", first, again)
	}
	if _, ok := statistics.Resample(5, func([]float64) float64 { return math.NaN() }); ok {
		t.Error("Resample of nothing: got an interval")
	}
}
