package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
)

// comparedRun returns a run with the similarities of each rollout, "" for none. The names of
// rollouts end in a letter for the trial.
func comparedRun(similarities map[string]string) ComparedRun {
	summary := &resultfile.Summary{}
	for rollout, similarity := range similarities {
		summary.Scenarios = append(summary.Scenarios, resultfile.ScenarioResult{
			Name: rollout, Categories: []string{"SHORT"}, Similarity: resultfile.Similarity(similarity),
		})
	}
	return NewComparedRun("run", summary, func(rollout string) string { return rollout[:len(rollout)-1] })
}

// itself is the scenario of runs without variants.
func itself(name string) string { return name }

// TestCompare compares means over trials, and excludes what has no score in both runs.
func TestCompare(t *testing.T) {
	first := comparedRun(map[string]string{"up0": "0.0", "up1": "0.5", "down0": "1.0", "same0": "0.5", "lost0": "1.0", "gone0": "0.1"})
	second := comparedRun(map[string]string{"up0": "1.0", "up1": "", "down0": "0.5", "same0": "0.5", "lost0": "", "new0": "0.2"})
	got := Compare(first, second, itself)
	want := &Comparison{
		First: first, Second: second, Better: 1, Equal: 1, Worse: 1,
		Categories: []CategoryChange{
			{Name: "SHORT", Scenarios: 3, First: 1.75 / 3, Second: 2.0 / 3, Change: 0.25 / 3},
			{Name: resultfile.AllCategories, Scenarios: 3, First: 1.75 / 3, Second: 2.0 / 3, Change: 0.25 / 3},
		},
		Changed:   []ScenarioChange{{"down", 1, 0.5, -0.5}, {"up", 0.25, 1, 0.75}},
		OnlyFirst: []string{"gone", "lost"}, OnlySecond: []string{"new"},
		// The changes 0.75, -0.5 and 0 have a standard error of 0.3632; t of two degrees is 4.3027.
		Low: new(-1.47957), High: new(1.64624),
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-4 })
	if diff := cmp.Diff(want, got, near, cmp.AllowUnexported(ScenarioScore{})); diff != "" {
		t.Errorf("comparison (-want +got):\n%s", diff)
	}
}

// TestCompareOne compares a single scenario: a mean change of one has no interval.
func TestCompareOne(t *testing.T) {
	got := Compare(comparedRun(map[string]string{"a0": "0.5"}), comparedRun(map[string]string{"a0": "0.5"}), itself)
	if got.Low != nil || got.High != nil || got.Equal != 1 || len(got.Changed) > 0 {
		t.Errorf("comparison: got %+v, want one equal scenario without an interval", got)
	}
}

// TestStudentT compares quantiles with those of a printed table.
func TestStudentT(t *testing.T) {
	for freedom, want := range map[float64]float64{1: 12.706, 2: 4.303, 10: 2.228, 30: 2.042, 155: 1.975} {
		if got := studentT(freedom); math.Abs(got-want) > 5e-4 {
			t.Errorf("t of %v degrees: got %v, want %v", freedom, got, want)
		}
	}
}

// TestWriteComparisonOfMany shows the ends of a long list, and says so.
func TestWriteComparisonOfMany(t *testing.T) {
	first, second := make(map[string]string), make(map[string]string)
	for n := range 100 {
		first[fmt.Sprintf("scenario%02d.", n)], second[fmt.Sprintf("scenario%02d.", n)] = "0.5", fmt.Sprint(float64(n)/100)
		second[fmt.Sprintf("other%02d.", n)] = "1.0"
	}
	var out strings.Builder
	if err := WriteComparison(&out, Compare(comparedRun(first), comparedRun(second), itself)); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"100 scenarios: 49 better, 1 equal, 50 worse; ": true, "the first and the last 20 of 99 changes are shown": true,
		"scenario00 ": true, "scenario19 ": true, "scenario20 ": false, "scenario99 ": true,
		"100 not compared, with a score in the second run only: other00, other01, other02, other03, other04, …\n": true,
	} {
		if strings.Contains(out.String(), text) != want {
			t.Errorf("%q in the text: got %v, want %v:\n%s", text, !want, want, out.String())
		}
	}
}

// TestCompareVariants counts the variants of a scenario as one in the interval, and takes no
// rounding for a change.
func TestCompareVariants(t *testing.T) {
	first := comparedRun(map[string]string{"a0": "0.1", "a_x0": "0.1", "b0": "0.7"})
	second := comparedRun(map[string]string{"a0": "0.4", "a_x0": "0.2", "b0": "0.7", "b1": "0.7", "b2": "0.7"})
	got := Compare(first, second, func(name string) string { return strings.TrimSuffix(name, "_x") })
	// The changes are 0.2 of a and 0 of b: their standard error is 0.1, and t of one degree is 12.706.
	if got.Low == nil || math.Abs(*got.Low-(0.1-1.2706)) > 1e-4 || got.Equal != 1 || got.Better != 2 {
		t.Errorf("comparison: got %+v from %v, want an interval of two scenarios, and one that is equal", got, *got.Low)
	}
}
