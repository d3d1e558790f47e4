package euroeval

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/python"
)

func TestNewSplit(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 249, 250, 499, 500, 501, 2501} {
		got := NewSplit(n)
		if len(got.Train) != min(n, 250) || len(got.Val) != min(max(n-250, 0), 250) || len(got.Test) != max(n-500, 0) {
			t.Errorf("NewSplit(%d) = %d, %d, %d records", n, len(got.Train), len(got.Val), len(got.Test))
		}
		all := slices.Sorted(slices.Values(slices.Concat(got.Train, got.Val, got.Test)))
		for i, place := range all {
			if i != place {
				t.Fatalf("NewSplit(%d): got place %d at %d, want each place once", n, place, i)
			}
		}
	}
}

// TestResample covers cases that the vectors lack.
func TestResample(t *testing.T) {
	t.Parallel()
	got, err := Resample(Seed, 2, SplitSizes{Train: 3, Val: 4, Test: 4})
	if err != nil || len(got) != 2 || len(got[0]) != 4 {
		t.Fatalf("got %v and %v, want 2 draws of 4 rows", got, err)
	}
	if empty, err := Resample(Seed, 1, SplitSizes{}); err != nil || len(empty[0]) != 0 {
		t.Errorf("without records: got %v and %v, want no rows", empty, err)
	}
	if _, err := Resample(Seed, 1, SplitSizes{Train: -1}); err == nil {
		t.Error("a negative size: got no error")
	}
}

// TestCacheOrder compares with orders that CPython 3.11 printed for list(set(newRows)) +
// list(set(range(n)) - set(newRows)).
func TestCacheOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		n           int
		fresh, want []int
	}{
		{0, nil, nil},
		{3, []int{1}, []int{1, 0, 2}},
		{5, []int{0, 4}, []int{0, 4, 1, 2, 3}},
		{10, []int{7, 8, 9}, []int{8, 9, 7, 0, 1, 2, 3, 4, 5, 6}},
		{12, []int{0, 5, 9, 10, 11}, []int{0, 5, 9, 10, 11, 1, 2, 3, 4, 6, 7, 8}},
		{40, []int{33, 39}, []int{33, 39, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 34, 35, 36, 37, 38}},
	} {
		if diff := cmp.Diff(test.want, cacheOrder(test.n, test.fresh)); diff != "" {
			t.Errorf("cacheOrder(%d, %v) (-want +got):\n%s", test.n, test.fresh, diff)
		}
	}
}

// TestEvaluate checks scores in EuroEval's order and aligned scores.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	row := func(prompt, functions, arguments string) Row {
		return Row{
			Prompt: prompt, Functions: parse(t, functions), Answers: parse(t, `[{"f": {"a": [1]}}]`),
			Prediction: `{"tool_calls": [{"function": "f", "arguments": ` + arguments + `}]}`,
		}
	}
	rows := []Row{
		row("strict", `[{"name": "f", "parameters": {"required": ["a"]}}]`, `{"a": 1}`),
		row("loose", `[{"name": "f", "parameters": {"required": ["b"]}}]`, "{}"),
	}
	got := Evaluate(rows, [][]int{{0, 0, 1}, {1, 0}, {}})
	want := []Iteration{
		{Order: []int{0, 2, 1}, Generated: 2, Score: Score{Value: 2.0 / 3, OK: true}, Aligned: Score{Value: 1, OK: true}},
		{Order: []int{0, 1}, Score: Score{Value: 1, OK: true}, Aligned: Score{Value: 1, OK: true}},
		{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Evaluate (-want +got):\n%s", diff)
	}
	rows[1].Prediction = `{"tool_calls": null}`
	if failed := Evaluate(rows, [][]int{{0, 1}})[0].Score; failed.OK || failed.Err == nil {
		t.Errorf("a prediction that raises: got %+v, want an error", failed)
	}
	if got := MetricScore(nil, []python.Value{python.List()}, []string{"{}"}); got != (Score{}) {
		t.Errorf("Call without rows = %+v, want no score", got)
	}
}

func TestSummarise(t *testing.T) {
	t.Parallel()
	if got := Summarise(nil); !math.IsNaN(got.Mean) || !math.IsNaN(got.Margin) {
		t.Errorf("Summarise(nil) = %+v, want NaN", got)
	}
	if got := Summarise([]float64{0.5}); got.Mean != 0.5 || !math.IsNaN(got.Margin) {
		t.Errorf("Summarise of one = %+v, want 0.5 and NaN", got)
	}
	many := slices.Repeat([]float64{0, 1}, 500) // more than one block of the sum
	if got := Summarise(many); got.Mean != 0.5 || math.Abs(got.Margin-0.0310057) > 1e-6 {
		t.Errorf("Summarise of 1000 = %+v, want 0.5 and 0.0310", got)
	}
	if got := Percent(math.NaN()); got != "nan%" {
		t.Errorf("Percent(NaN) = %s, want nan%%", got)
	}
}

func TestCategoryOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Category{
		"simple_python_0": CategorySimple, "live_multiple_3-1-0": CategoryMultiple, "parallel_7": CategoryParallel,
		"live_parallel_multiple_2": CategoryParallelMultiple, "BFCL_v4_irrelevance.json": CategoryIrrelevance,
		"parallelism_1": "", "multi_turn_base_1": "",
	} {
		if got, err := CategoryOf(name); got != want || (err == nil) != (want != "") {
			t.Errorf("CategoryOf(%q) = %q and %v, want %q", name, got, err, want)
		}
	}
}
