package e2e_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/internal/vectortest"
)

// conformity is the output of toolsandbox conformance --json as far as it is looked at.
type conformity struct {
	Files []struct {
		Path    string
		Error   string
		Cases   int
		Differ  int
		NotRun  string `json:"not_run"`
		Missing []struct {
			Tool  string
			Cases int
		} `json:"missing_tools"`
		Differences []struct {
			Line             int
			Field, Want, Got string
		}
	}
	Passed, Failed int
}

// conform runs vectors and fails the test for every case that differs, but not for those whose tools the tool host lacks.
func conform(t *testing.T, args ...string) conformity {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), append([]string{"conformance", "--json"}, args...)...)
	printed, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1 || len(printed) == 0) {
		t.Fatalf("conformance %v: %v\n%s", args, err, printed)
	}
	var got conformity
	if err := json.Unmarshal(printed, &got); err != nil {
		t.Fatalf("conformance %v: %v\n%s", args, err, printed)
	}
	run := 0
	for _, file := range got.Files {
		missing := 0
		for _, tool := range file.Missing {
			missing += tool.Cases
		}
		if file.Error != "" || file.Differ != missing {
			t.Errorf("%s: got error %q and %d of %d cases that differ, want %d for missing tools: %+v",
				file.Path, file.Error, file.Differ, file.Cases, missing, file.Differences)
		}
		if missing > 0 {
			t.Logf("%s: %d of %d cases need tools that are not there: %v", file.Path, missing, file.Cases, file.Missing)
		}
		run += file.Cases
	}
	if run == 0 || got.Passed == 0 {
		t.Errorf("conformance %v: got %d cases of which %d passed, want some", args, run, got.Passed)
	}
	return got
}

// TestConformance runs the vectors through the services of one process.
func TestConformance(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		// whole says that no case depends on the tools that exist.
		whole bool
	}{
		{"evaluation", []string{vectortest.Dir(t, "evaluation")}, true},
		{"scores of trajectories", []string{vectortest.Dir(t, "trajectories"), "--score-only"}, true},
		{"trajectories", []string{vectortest.Dir(t, "trajectories")}, false},
		{"tools", []string{vectortest.Dir(t, "tools")}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := conform(t, test.args...); test.whole && got.Failed > 0 {
				t.Errorf("failed: got %d, want 0", got.Failed)
			}
		})
	}
}

// TestConformanceOverFourProcesses runs some vectors of each kind twice through four processes, which remember the first time.
func TestConformanceOverFourProcesses(t *testing.T) {
	services := start(t)
	args := append(services.ClientArgs(), "--toolhost-addr", services.Address(cluster.ToolHost),
		vectortest.Dir(t, "tools/calls/set_wifi_status.jsonl"), vectortest.Dir(t, "tools/raw_source.jsonl"),
		vectortest.Dir(t, "trajectories/parallel.jsonl"), vectortest.Dir(t, "evaluation"))
	first := conform(t, args...)
	if second := conform(t, args...); first.Passed != second.Passed {
		t.Errorf("passed the second time: got %d, want %d", second.Passed, first.Passed)
	}
}

// TestConformanceOfTheSlice runs the vectors that are part of this repository: it needs no shared folder.
func TestConformanceOfTheSlice(t *testing.T) {
	got := conform(t, filepath.Join("testdata", "vectors"))
	if got.Failed != 0 {
		t.Errorf("failed cases: got %d, want 0", got.Failed)
	}
}
