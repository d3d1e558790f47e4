package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

// decisionFile is the file of what a comparison shows.
const decisionFile = "decision.json"

// TestLongInterruptUntilDecided interrupts or kills a comparison at its start and in its
// middle. What is resumed has the files of one that was left alone, and its decision.
func TestLongInterruptUntilDecided(t *testing.T) { //nolint:tparallel // its subtests share an agent
	t.Parallel()
	plug, turns := rationed(t)
	flags := []string{"run", "--agent", plug, "--against", "random", "--until-decided", "--trials", "2", "--seed", "5", "--parallel", "2"}
	calm := t.TempDir()
	toolsandbox(t, append(flags, "--out", calm)...)
	want, err := os.ReadFile(filepath.Join(calm, decisionFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, signal := range map[string]os.Signal{"interrupt": os.Interrupt, "kill": os.Kill} {
		t.Run(name, func(t *testing.T) {
			broken := filepath.Join(t.TempDir(), "broken")
			turns.set(60) // of 99
			stopped := interrupt(t, signal, append(flags, "--out", broken)...)
			if signal == os.Interrupt && (stopped.err == nil || stopped.took > interruptTimeout) {
				t.Errorf("interrupted run: got %v after %s, want an error within %s\n%s", stopped.err, stopped.took, interruptTimeout, stopped.stderr)
			}
			turns.set(unlimited)
			interrupt(t, signal, append(flags, "--out", broken, "--resume")...)
			toolsandbox(t, append(flags, "--out", broken, "--resume", "--parallel", "3")...)
			for _, agent := range []string{results.SafeName(plug), "random"} {
				equalRuns(t, filepath.Join(calm, agent), filepath.Join(broken, agent))
			}
			got, err := os.ReadFile(filepath.Join(broken, decisionFile))
			if err != nil {
				t.Fatal(err)
			}
			if got = bytes.ReplaceAll(got, []byte(broken), []byte(calm)); !bytes.Equal(got, want) {
				t.Errorf("decision: got %s, want %s", got, want)
			}
		})
	}
}
