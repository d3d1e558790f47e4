package e2e_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
)

// conformanceReport is the checked part of the output of conformance --json.
type conformanceReport struct {
	Files []struct {
		Path        string
		Error       string
		Cases       int
		Differ      int
		Differences []struct {
			Line             int
			Field, Want, Got string
		}
	}
	Passed, Failed int
}

// runVectors runs vectors and fails the test for every case that differs or whose tool is missing.
func runVectors(t *testing.T, args ...string) conformanceReport {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "conformance"), append([]string{"--json"}, args...)...)
	printed, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1 || len(printed) == 0) {
		t.Fatalf("conformance %v: %v\n%s", args, err, printed)
	}
	var got conformanceReport
	if err := json.Unmarshal(printed, &got); err != nil {
		t.Fatalf("conformance %v: %v\n%s", args, err, printed)
	}
	run := 0
	for _, file := range got.Files {
		if file.Error != "" || file.Differ > 0 {
			t.Errorf("%s: got error %q and %d of %d cases that differ, want none: %+v", file.Path, file.Error, file.Differ, file.Cases, file.Differences)
		}
		run += file.Cases
	}
	if run == 0 || got.Passed == 0 {
		t.Errorf("conformance %v: got %d cases of which %d passed, want some", args, run, got.Passed)
	}
	return got
}

// TestLongConformance runs the vectors through the services of one process.
func TestLongConformance(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"evaluation":             {vectortest.Dir(t, "evaluation")},
		"scores of trajectories": {vectortest.Dir(t, "trajectories"), "--score-only"},
		"trajectories":           {vectortest.Dir(t, "trajectories")},
		"tools":                  {vectortest.Dir(t, "tools")},
		"euroeval":               {vectortest.Dir(t, "euroeval")},
	}
	roles, err := filepath.Glob(filepath.Join(vectortest.Dir(t, "roles"), "*.jsonl"))
	if err != nil || len(roles) == 0 {
		t.Fatalf("no vectors of roles: %v", err)
	}
	for _, file := range roles { // each waits for its servers' time-outs
		tests["roles of "+filepath.Base(file)] = []string{file}
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := runVectors(t, args...); got.Failed > 0 {
				t.Errorf("failed: got %d, want 0", got.Failed)
			}
		})
	}
}

// TestLongConformanceOverFourProcesses runs some vectors of each kind twice with four processes,
// which keep state in between.
func TestLongConformanceOverFourProcesses(t *testing.T) {
	t.Parallel()
	services := start(t)
	args := append(services.ClientArgs(), "--toolhost-addr", services.Address(cluster.ToolHost),
		vectortest.Dir(t, "tools/calls/set_wifi_status.jsonl"), vectortest.Dir(t, "tools/raw_source.jsonl"),
		vectortest.Dir(t, "trajectories/parallel.jsonl"), vectortest.Dir(t, "evaluation"))
	first := runVectors(t, args...)
	if second := runVectors(t, args...); first.Passed != second.Passed {
		t.Errorf("passed the second time: got %d, want %d", second.Passed, first.Passed)
	}
}

// TestConformanceOfRepositoryVectors runs the vectors of this repository, without the shared
// folder.
func TestConformanceOfRepositoryVectors(t *testing.T) {
	t.Parallel()
	got := runVectors(t, filepath.Join("testdata", "vectors"))
	if got.Failed != 0 {
		t.Errorf("failed cases: got %d, want 0", got.Failed)
	}
}
