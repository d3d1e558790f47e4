package report

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

func TestEuroEval(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	content := &results.EuroEval{Iterations: 10, DataSets: []euroeval.DataSetScores{{
		DataSet: "mine", Split: "val", Predictions: 4, Failed: 3, Disagreements: 3,
		EuroEval: euroeval.Summary{Mean: 0.5, Margin: 0.125}, Aligned: euroeval.Summary{Mean: nan, Margin: nan}, StrictShare: euroeval.Summary{Mean: 0.5, Margin: nan},
		Quirks:     map[euroeval.Quirk]int{euroeval.QuirkOrder: 1, euroeval.QuirkExtraArgument: 2},
		Categories: []euroeval.CategoryScores{{Category: "simple", Predictions: 4, EuroEval: 0.5, Strict: 0.25, Disagreements: 3}},
	}}}
	var out strings.Builder
	if err := WriteEuroEval(&out, content); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if words := strings.Join(strings.Fields(line), " "); words != "" && !strings.HasPrefix(words, "─") {
			got = append(got, words)
		}
	}
	want := []string{
		"category answers euroeval bfcl-strict differ",
		"simple 4 50.00 25.00 3",
		"data set split answers euroeval aligned bfcl-strict differ",
		"mine val 4 50.00 ± 12.50 – 50.00 3",
		"mine: 3 of 10 iterations do not count, because EuroEval's metric raises",
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	if last := got[len(got)-1]; last != "the graders differ by extra_argument_passes 2, call_order_counts 1" {
		t.Errorf("got %q, want the commonest quirk first", last)
	}
	var none strings.Builder
	if err := WriteEuroEval(&none, nil); err != nil || none.Len() > 0 {
		t.Errorf("without records: got %q and %v, want nothing", &none, err)
	}
}

func TestGradedRecords(t *testing.T) {
	t.Parallel()
	answered := Row{Result: &busv1.Result{CallGrade: &busv1.CallGrade{}}}
	played := Row{Result: &busv1.Result{}}
	failed := Row{Result: &busv1.Result{End: &busv1.End{Reason: busv1.EndReason_END_REASON_INFRASTRUCTURE}}}
	for name, test := range map[string]struct {
		rows []Row
		want bool
	}{
		"none": {nil, false}, "answers": {[]Row{answered, failed}, true}, "mixed": {[]Row{answered, played}, false}, "failed": {[]Row{failed}, false},
	} {
		if got := graded(test.rows); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}
