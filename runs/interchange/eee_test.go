package interchange

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestNoScores exports a run of which no rollout has a score. No record says 0, and no file stays.
func TestNoScores(t *testing.T) {
	t.Parallel()
	e := &exporter{run: &results.Run{SweepID: "s"}, summary: &resultfile.Summary{}, dir: t.TempDir()}
	paths, err := e.writeEEE()
	if !errors.Is(err, errNoScores) || len(paths) > 0 {
		t.Errorf("got %v and %v, want %v", paths, err, errNoScores)
	}
	err = fs.WalkDir(os.DirFS(e.dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			t.Errorf("left: got %s, want no file", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
