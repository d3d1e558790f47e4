package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestLongImport imports all scenarios of the original. Recorded trajectories of the pack's
// scenarios match, and every variant can run.
func TestLongImport(t *testing.T) {
	t.Parallel()
	pack, out := filepath.Join(t.TempDir(), "pack"), filepath.Join(t.TempDir(), "out")
	toolsandbox(t, "scenario", "import", vectortest.Dir(t, "scenarios.json"), "--out", pack)
	for _, flags := range [][]string{nil, {"--score-only"}} {
		if got := runVectors(t, append([]string{"--pack", pack, vectortest.Dir(t, "trajectories")}, flags...)...); got.Failed > 0 {
			t.Errorf("failed trajectories with %v: got %d, want 0", flags, got.Failed)
		}
	}
	turns := filepath.Join(t.TempDir(), "turns.yaml")
	if err := os.WriteFile(turns, []byte("- say: Thank you.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	toolsandbox(t, "run", "--pack", pack, "--variants", "all", "--agent", "unhelpful", "--user", "scripted:"+turns, "--out", out)
	summary, err := results.ReadSummary(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(summary.Scenarios) != 1032 {
		t.Errorf("results: got %d, want 1032", len(summary.Scenarios))
	}
}

// TestExporter runs the exporter's tests, which only need Python.
func TestExporter(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "-m", "unittest", "discover", "-s", "tools/exporter", "-p", "*_test.py")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "UPDATE=")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "\nOK") {
		t.Errorf("tests of the exporter: %v\n%s", err, out)
	}
}
