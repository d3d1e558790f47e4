package interchange

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// TestNoScores exports a run of which no rollout has a score. No record says 0, and no file stays.
func TestNoScores(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	files, err := storage.NewBatch(dir)
	if err != nil {
		t.Fatal(err)
	}
	e := &exporter{run: &results.Run{SweepID: "s"}, summary: &resultfile.Summary{}, files: files}
	if paths, err := files.End(e.writeEEE()); !errors.Is(err, errNoScores) || len(paths) > 0 {
		t.Errorf("got %v and %v, want %v", paths, err, errNoScores)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: got %v, want that it is gone", err)
	}
}
