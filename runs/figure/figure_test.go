package figure_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/figure"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// run returns a run with scores of some scenarios, in their plain variant and with all tools, with
// costs if it is priced.
func run(priced bool, scores ...float64) *analysis.Run {
	summary, record := &resultfile.Summary{}, &results.Run{Agent: results.Player{Name: fmt.Sprint("agent ", len(scores))}, Trials: 1}
	for i, score := range scores {
		for _, suffix := range []string{"", "_all_tools"} {
			summary.Scenarios = append(summary.Scenarios, resultfile.ScenarioResult{
				Name: fmt.Sprint("s", i, suffix), Categories: []string{"COREFERENCE", "<&>"}, Similarity: resultfile.Similarity(fmt.Sprint(score)),
			})
			outcome := results.Outcome{}
			if dollars := 0.25; priced {
				outcome.Usage = &results.Usage{Agent: &results.RoleUsage{CostUSD: &dollars}}
			}
			record.Rollouts = append(record.Rollouts, outcome)
		}
	}
	return analysis.NewRun("dir", summary, record)
}

// floored returns a run with floors.
func floored(scores ...float64) *analysis.Run {
	r := run(false, scores...)
	r.Floors = &results.Floors{
		Idle: results.Floor{Mean: 0.2}, Random: results.Floor{Mean: 0.3}, Oracle: &results.Floor{Mean: 1},
		Categories: map[string]*results.CategoryFloors{"COREFERENCE": {Idle: results.Floor{Mean: 0.1}}},
	}
	return r
}

// opened returns a run whose trajectories have calls.
func opened(t *testing.T) *analysis.Run {
	t.Helper()
	dir := t.TempDir()
	summary := &resultfile.Summary{}
	for _, name := range []string{"s", "s_all_tools"} {
		summary.Scenarios = append(summary.Scenarios, resultfile.ScenarioResult{Name: name, Categories: []string{"COREFERENCE"}, Similarity: "0.5"})
		call := &worldv1.Message{
			Sender: worldv1.Role_ROLE_AGENT, Recipient: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT,
			Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Tool: "search_contacts"}},
		}
		if _, err := results.WriteTrajectory(dir, results.Rollout{Rollout: resultfile.Rollout{
			Scenario: &scenariov1.Scenario{Setup: &setupv1.Setup{}}, Messages: []*worldv1.Message{call}, Directory: name, Result: &busv1.Result{},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := results.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return analysis.OpenRun(dir, summary, reader)
}

func TestWrite(t *testing.T) {
	for _, test := range []struct {
		name string
		runs []*analysis.Run
		want string
	}{
		{"one run", []*analysis.Run{run(true, 0, 0.5, 1)}, "categories histogram strips variants"},
		{"two priced runs", []*analysis.Run{run(true, 0, 0.5, 1), run(true, 1)}, "categories histogram strips costs variants"},
		{"one of two is priced", []*analysis.Run{run(true, 0.2, 0.4), run(false, 1)}, "categories histogram strips variants"},
		{"one without a score", []*analysis.Run{run(false, 0.3), run(false)}, "categories histogram strips variants"},
		{"floors", []*analysis.Run{floored(0.3), run(false)}, "categories histogram strips variants"},
		{"trajectories", []*analysis.Run{opened(t)}, "categories histogram strips variants tools"},
		{"no score", []*analysis.Run{run(false)}, "histogram"},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := reportOf(t, test.runs...)
			dir := filepath.Join(t.TempDir(), "figures")
			paths, err := figure.Write(t.Context(), dir, report)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, name := range strings.Fields(test.want) {
				want = append(want, filepath.Join(dir, name+".svg"), filepath.Join(dir, name+".png"))
			}
			if diff := cmp.Diff(want, paths); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
			svg, err := figure.Costs(report)
			if err != nil || (svg != nil) != strings.Contains(test.want, "costs") {
				t.Errorf("costs: got %d bytes and %v", len(svg), err)
			}
			again, err := figure.Write(t.Context(), t.TempDir(), report)
			if err != nil {
				t.Fatal(err)
			}
			for i, path := range paths {
				first, second := read(t, path), read(t, again[i])
				if !bytes.Equal(first, second) {
					t.Errorf("%s differs when it is drawn again", filepath.Base(path))
				}
				checkPicture(t, path, first)
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// checkPicture decodes a figure.
func checkPicture(t *testing.T, path string, data []byte) {
	t.Helper()
	if filepath.Ext(path) == ".png" {
		if _, err := png.Decode(bytes.NewReader(data)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return
	}
	decoder := xml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

// reportOf returns the report of runs.
func reportOf(t *testing.T, runs ...*analysis.Run) *analysis.Report {
	t.Helper()
	r, err := analysis.NewReport(t.Context(), runs, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWriteAfterAnother draws a report where another one has more figures. Its own figures are
// left, and files with other names.
func TestWriteAfterAnother(t *testing.T) {
	dir := t.TempDir()
	if _, err := figure.Write(t.Context(), dir, reportOf(t, run(true, 0, 0.5, 1), run(true, 1))); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "notes.svg")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	paths, err := figure.Write(t.Context(), dir, reportOf(t, run(false)))
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	want := append(slices.Sorted(slices.Values(paths)), own)
	if diff := cmp.Diff(want, found); diff != "" || err != nil {
		t.Errorf("files (-want +got), %v:\n%s", err, diff)
	}
}

// TestWriteInto names a directory that cannot be made.
func TestWriteInto(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := figure.Write(t.Context(), file, reportOf(t, run(false, 1))); err == nil || !strings.Contains(err.Error(), "--plots: ") || !strings.Contains(err.Error(), file) {
		t.Errorf("Write into a file: got error %v, want one that names --plots and the file", err)
	}
}

// TestBucket draws into no bucket, nor into a directory called after one.
func TestBucket(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := figure.Write(t.Context(), "s3://bucket/figures", reportOf(t, run(true, 0.5))); !errors.Is(err, storage.ErrNoDirectory) {
		t.Errorf("got %v, want %v", err, storage.ErrNoDirectory)
	}
	if names, err := os.ReadDir("."); err != nil || len(names) > 0 {
		t.Errorf("left: got %v and %v, want nothing", names, err)
	}
}
