package interchange

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/statistics"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// TestNoScores exports a run of which no rollout has a score. No record says 0, and no file stays.
func TestNoScores(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	files, err := storage.NewBatch(dir)
	if err != nil {
		t.Fatal(err)
	}
	e := &exporter{run: &results.Run{SweepID: "s"}, summary: &resultfile.Summary{}, files: files}
	if paths, err := files.End(e.writeEEE()); !errors.Is(err, errNoScores) || len(paths) > 0 {
		t.Errorf("got %v and %v, want %v", paths, err, errNoScores)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: got %v, want that it is gone", err)
	}
}

// TestScoreOfRecord has the interval of report in the record of a run, and the method that made it.
func TestScoreOfRecord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scores []string
		want   any // the method, nil without an interval
	}{
		{[]string{"1.0", "1.0"}, "Clopper and Pearson, clustered by base scenario"},
		{[]string{"0.5", "0.5", "0.5"}, "betting, clustered by base scenario"},
		{[]string{"0.5", "0.6", "0.5", "0.4"}, "Student's t, clustered by base scenario"},
		{[]string{"0.0", "1.0"}, nil},
		{[]string{"0.5"}, nil},
	} {
		summary := &resultfile.Summary{}
		var scores []statistics.Observation
		for i, score := range c.scores {
			entry := resultfile.ScenarioResult{Name: fmt.Sprint("s", i), Similarity: resultfile.Similarity(score)}
			summary.Scenarios = append(summary.Scenarios, entry)
			value, _ := entry.Similarity.Number()
			scores = append(scores, statistics.Observation{Cluster: entry.Name, Value: value})
		}
		report, err := analysis.NewReport(t.Context(), []*analysis.Run{analysis.NewRun("", summary, nil)}, 1)
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := report.Whole(0)
		got := eeeScoreOf(scores, len(scores)).Uncertainty
		interval, _ := got["confidence_interval"].(map[string]any)
		if interval["method"] != c.want {
			t.Errorf("%v: got interval %v, want one by %v", c.scores, interval, c.want)
		}
		if reported := whole.Score.Interval; reported != nil && (interval["lower"] != reported.Low || interval["upper"] != reported.High) {
			t.Errorf("%v: got interval %v, report has %v", c.scores, interval, *reported)
		}
		if _, known := got["standard_error"]; known != (slices.Max(c.scores) != slices.Min(c.scores)) {
			t.Errorf("%v: got %v, want a standard error where scores differ", c.scores, got)
		}
	}
}
