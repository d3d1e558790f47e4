package euroeval

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// playedRecords returns predictions for records of one function each. Both graders reject every
// third prediction. The strict grader alone rejects one more.
func playedRecords(trials int) []GradedPrediction {
	const functions = `[{"name": "f%d", "parameters": {"type": "dict", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}]`
	var list []GradedPrediction
	for trial := range trials {
		for i := range 12 {
			p := GradedPrediction{
				Record: &evaluationv1.FunctionCalling{
					FunctionsJson: fmt.Sprintf(functions, i/2), AnswersJson: fmt.Sprintf(`[{"f%d": {"a": [1]}}]`, i/2),
					Position: &evaluationv1.RecordPosition{DataSet: "mine", Language: "en", Category: "simple", Split: "all", Index: int32(i)},
				},
				Prompt: fmt.Sprint(i), Trial: trial, EuroEval: i%3 > 0, Strict: i%3 > 0 && i != 1,
				Prediction: fmt.Sprintf(`{"tool_calls": [{"function": "f%d", "arguments": {"a": %d}}]}`, i/2, min(i%3, 1)),
			}
			if p.EuroEval != p.Strict {
				p.Quirk = QuirkExtraArgument
			}
			list = append(list, p)
		}
	}
	return list
}

func TestScoreDataSets(t *testing.T) {
	t.Parallel()
	settings := DefaultSettings()
	settings.CacheOrder = false
	list, err := ScoreDataSets(playedRecords(2), settings)
	if err != nil || len(list) != 1 {
		t.Fatalf("got %d data sets and %v, want one", len(list), err)
	}
	got := list[0]
	if got.Records != 12 || got.Predictions != 24 || len(got.Iterations) != Iterations || got.Failed != 0 {
		t.Errorf("got %+v, want 12 records, 24 answers and %d iterations", got, Iterations)
	}
	if diff := cmp.Diff(map[Quirk]int{QuirkExtraArgument: 2}, got.Quirks); diff != "" {
		t.Errorf("quirks (-want +got):\n%s", diff)
	}
	if got.EuroEval != got.Aligned || math.Abs(got.EuroEval.Mean-2./3) > 0.2 || got.EuroEval.Margin <= 0 {
		t.Errorf("bootstrap: got %+v and %+v, want the same, near 2/3", got.EuroEval, got.Aligned)
	}
	// Six clusters of four predictions; right is the number of correct ones.
	mean := 2. / 3
	squares := 0.0
	for _, right := range []float64{2, 2, 4, 2, 2, 4} {
		squares += (right - 4*mean) * (right - 4*mean)
	}
	want := Summary{Mean: mean, Margin: 1.96 * math.Sqrt(squares*6/5) / 24}
	if math.Abs(got.EuroEvalShare.Mean-want.Mean) > 1e-12 || math.Abs(got.EuroEvalShare.Margin-want.Margin) > 1e-12 {
		t.Errorf("clustered interval: got %+v, want %+v", got.EuroEvalShare, want)
	}
	wantCategories := []CategoryScores{{Category: "simple", Predictions: 24, EuroEval: 16. / 24, Strict: 14. / 24, Disagreements: 2}}
	if diff := cmp.Diff(wantCategories, got.Categories); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
}

// TestScoreDataSetsInCacheOrder checks that EuroEval's order grades with other records' functions.
// Each record has its own function here, so a wrong argument passes in that order.
func TestScoreDataSetsInCacheOrder(t *testing.T) {
	t.Parallel()
	played := playedRecords(1)
	for i := range played {
		played[i].Record.FunctionsJson = fmt.Sprintf(`[{"name": "f%d", "parameters": {"required": ["a%d"]}}]`, i/2, i)
		played[i].Record.AnswersJson = fmt.Sprintf(`[{"f%d": {"a%d": [1]}}]`, i/2, i)
		played[i].Prediction = fmt.Sprintf(`{"tool_calls": [{"function": "f%d", "arguments": {"a%d": 2}}]}`, i/2, i)
	}
	list, err := ScoreDataSets(played, DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0]; got.Aligned.Mean != 0 || got.EuroEval.Mean == 0 {
		t.Errorf("got %+v in EuroEval's order and %+v aligned, want 0 only for the latter", got.EuroEval, got.Aligned)
	}
}

// TestScoreDataSetsWithFailedIterations checks that a prediction for which EuroEval's metric raises
// fails only its iterations.
func TestScoreDataSetsWithFailedIterations(t *testing.T) {
	t.Parallel()
	played := playedRecords(1)
	played[0].Prediction = `{"tool_calls": null}`
	list, err := ScoreDataSets(played, DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0]; got.Failed == 0 || got.Failed+len(got.Iterations) != Iterations {
		t.Errorf("got %d failed and %d other iterations, want %d in all and some failed", got.Failed, len(got.Iterations), Iterations)
	}
}

func TestScoreDataSetsOfOneCluster(t *testing.T) {
	t.Parallel()
	list, err := ScoreDataSets(playedRecords(1)[1:2], DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0]; got.EuroEvalShare.Mean != 1 || !math.IsNaN(got.EuroEvalShare.Margin) {
		t.Errorf("got %+v, want 1 without an interval", got.EuroEvalShare)
	}
}
