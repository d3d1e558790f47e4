package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLongNotebook executes the notebook of examples/ on an experiment, and on one of its runs, in
// which no model has a price. Its figures are drawn, and its means are those of a report.
func TestLongNotebook(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	run := exec.CommandContext(t.Context(), filepath.Join(bin, "slowmodel"), "-delay", "1ms", "-calls", "2",
		filepath.Join(bin, "toolsandbox"), "run", "--config", filepath.Join("..", "examples", "notebook", "experiment.yaml"), "--out", out)
	if printed, err := run.CombinedOutput(); err != nil {
		t.Fatalf("run: %v\n%s", err, printed)
	}
	for dir, want := range map[string]string{out: "3 figures, 33 means", filepath.Join(out, "agent=dice"): "3 figures, 11 means"} {
		figures := t.TempDir()
		report := filepath.Join(figures, "report.json")
		if err := os.WriteFile(report, []byte(toolsandbox(t, "report", dir, "--json")), 0o600); err != nil {
			t.Fatal(err)
		}
		script := pythonIn(t, "readers", filepath.Join("testdata", "readers", "notebook.py"))
		script.Args = append(script.Args, filepath.Join("..", "examples", "notebook", "figures.ipynb"), dir, report, figures)
		printed, err := script.CombinedOutput()
		if err != nil || !strings.Contains(string(printed), want) {
			t.Errorf("%s: got %v and %s, want %s", dir, err, printed, want)
		}
		if drawn, err := filepath.Glob(filepath.Join(figures, "*.png")); err != nil || len(drawn) != 3 {
			t.Errorf("%s: got figures %v and %v, want 3", dir, drawn, err)
		}
	}
}
