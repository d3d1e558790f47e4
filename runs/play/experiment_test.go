package play

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestExperimentIsControlled finds the socket of an experiment by each of its runs, and lets a
// sweep have more concurrent rollouts than --parallel.
func TestExperimentIsControlled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	options, flags, settings := New(results.Program{}), pflag.NewFlagSet("run", pflag.ContinueOnError), filepath.Join(dir, "mine.yaml")
	options.RegisterFlags(flags)
	out := filepath.Join(dir, "out")
	if err := flags.Parse([]string{"--pack", filepath.Join("..", "..", "packs", "ride"), "--parallel", "3", "--out", out}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte("agent: [oracle, unhelpful]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	matrix, err := process.SetFromFile(flags, pflag.NewFlagSet("", pflag.ContinueOnError), settings)
	if err != nil {
		t.Fatal(err)
	}
	cells, err := options.cells(t.Context(), []string{"be_ready"}, matrix, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	release, err := options.openExperiment(cells)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		if got, want := Socket(filepath.Join(out, c.Name)), options.installation.Network.Socket; got != want {
			t.Errorf("socket of %s: got %s, want that of the experiment, %s", c.Name, got, want)
		}
		if c.run.spec.Parallel != 3 || options.installation.Orchestrator.Parallel != maxParallel {
			t.Errorf("concurrent rollouts of %s: got %d of %d, want 3 of %d", c.Name, c.run.spec.Parallel, options.installation.Orchestrator.Parallel, maxParallel)
		}
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
