package results_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestLocate checks that every path of a run leads to its directory and its rollout.
func TestLocate(t *testing.T) {
	base := t.TempDir()
	run := filepath.Join(base, "out")
	for _, name := range []string{"run.json", "result_summary.json", "trajectories/wifi/conversation.json", ".toolsandbox/lock"} {
		if err := results.WriteFile(filepath.Join(run, name), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ from, path, run, rollout string }{
		{base, "out", "out", ""},
		{base, "out/", "out", ""},
		{base, "out/run.json", "out", ""},
		{base, "out/result_summary.json", "out", ""},
		{base, "out/.toolsandbox/lock", "out", ""},
		{base, "out/trajectories", "out", ""},
		{base, "out/trajectories/wifi", "out", "wifi"},
		{base, "./out/trajectories/wifi/conversation.json", "out", "wifi"},
		{base, "out/trajectories/lost", "out", "lost"},
		{run, ".", ".", ""},
		{run, "trajectories/wifi", ".", "wifi"},
		{filepath.Join(run, "trajectories/wifi"), "conversation.json", "../..", "wifi"},
		{base, filepath.Join(run, "run.json"), run, ""},
		{base, "other/run.json", "other/run.json", ""},
		{run, "missing", "missing", ""},
		{run, "missing/run.json", "missing/run.json", ""},
		{base, ".", ".", ""},
	} {
		t.Chdir(test.from)
		if got, rollout := results.Locate(test.path); got != test.run || rollout != test.rollout {
			t.Errorf("Locate(%q) in %s: got %q, %q, want %q, %q", test.path, test.from, got, rollout, test.run, test.rollout)
		}
	}
	if err := os.Remove(filepath.Join(run, "run.json")); err != nil {
		t.Fatal(err)
	}
	if got, _ := results.Locate(filepath.Join(run, "trajectories")); got != run {
		t.Errorf("a run of the original: got %q, want %q", got, run)
	}
}
