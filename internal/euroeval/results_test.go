package euroeval

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a golden file with got.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// figures returns the figures of iterations with these scores.
func figures(split SplitName, scores ...float64) DataSetScores {
	return DataSetScores{DataSet: "euroeval-de", Language: "de", Split: string(split), Iterations: scores, EuroEval: Summarise(scores)}
}

// TestAppendResults checks a line for each split, a line for a single iteration, and no line if all
// iterations failed.
func TestAppendResults(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 8, 20, 12, 30, 1, 999, time.FixedZone("CEST", 2*60*60))
	var got bytes.Buffer
	err := AppendResults(&got, []DataSetScores{
		figures(SplitVal, 0.5, 1, 0.75), figures(SplitTest, 1, 1), figures(SplitTrain), figures(SplitAll, 0.1),
	}, "openai/gpt-4o", at)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, ResultsName, got.Bytes())
}

// TestResultTotals compares score and interval with the totals that EuroEval printed.
func TestResultTotals(t *testing.T) {
	t.Parallel()
	compared := 0
	vectortest.Lines(t, vectortest.Dir(t, "euroeval/aggregate.jsonl"), func(_ int, raw []byte) {
		var vector struct {
			ID    string             `json:"id"`
			Kept  []float64          `json:"kept_scores"`
			Total map[string]float64 `json:"total"`
		}
		if err := json.Unmarshal(raw, &vector); err != nil || len(vector.Kept) < 2 {
			return // another kind of line, which may contain NaN
		}
		compared++
		f := figures(SplitTest, vector.Kept...)
		got := f.resultMetric("any").Details
		score, radius := vector.Total["test_tool_calling_accuracy"], vector.Total["test_tool_calling_accuracy_se"]
		want := resultInterval{Lower: pythonFloat(score - radius), Upper: pythonFloat(score + radius), Level: 0.95, Method: "bootstrap"}
		if got.Score != pythonFloat(score) || *got.Uncertainty.Interval != want {
			t.Errorf("%s: got %v and %v, want %v and %v", vector.ID, got.Score, *got.Uncertainty.Interval, score, want)
		}
	})
	if compared == 0 {
		t.Error("no line has the scores of iterations")
	}
}
