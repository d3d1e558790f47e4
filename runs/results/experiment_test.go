package results

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRunsOfItsFile gives the file of an experiment in place of its directory.
func TestRunsOfItsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := WriteExperiment(dir, &Experiment{Runs: []ExperimentRun{{Directory: "a"}, {Directory: "b"}}}); err != nil {
		t.Fatal(err)
	}
	if err := WriteRun(filepath.Join(dir, "a"), &Run{SweepID: "s", SpecDigest: "d", Totals: &Totals{}}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, ExperimentFile)} {
		dirs, without, err := RunsOf(path)
		if err != nil || !cmp.Equal(dirs, []string{filepath.Join(dir, "a")}) || !cmp.Equal(without, []string{"b"}) {
			t.Errorf("%s: got %q, without results %q, and %v, want a and b", path, dirs, without, err)
		}
	}
	other := filepath.Join(dir, "a", ExperimentFile) // does not exist
	if dirs, _, err := RunsOf(other); err != nil || !cmp.Equal(dirs, []string{other}) {
		t.Errorf("%s: got %q and %v, want the path", other, dirs, err)
	}
}
