package results

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// Locate resolves a path of a run: its directory, one of its files, or a path of one of its
// rollouts. It returns the run's directory, and the rollout's name if the path has one. A path
// outside of runs is returned as it is.
func Locate(path string) (run, rollout string) {
	whole, err := storage.Abs(path)
	if err != nil {
		return path, ""
	}
	for at := storage.Join(path); ; at = storage.Join(at, "..") {
		dir, err := storage.Abs(at)
		if err != nil {
			return path, ""
		}
		_, err = storage.Size(storage.Join(dir, RunFile))
		if err != nil && storage.IsBucket(dir) && !errors.Is(err, fs.ErrNotExist) {
			return path, "" // the service does not answer, which the next call tells
		}
		if err == nil || isFile(dir, SummaryFile) {
			inside, err := storage.Rel(dir, whole)
			if err != nil || !isOfRun(dir, inside) {
				return path, ""
			}
			return at, rolloutOf(inside)
		}
		if dir == storage.Join(dir, "..") {
			return path, ""
		}
	}
}

// isOfRun reports whether a path inside a run's directory is one of the run's own.
func isOfRun(dir, inside string) bool {
	first, _, _ := strings.Cut(inside, string(filepath.Separator))
	return inside == "." || first == TrajectoriesDirectory || first == TablesDirectory || first == StateDirectory || inside == first && isFile(dir, inside)
}

// rolloutOf returns the rollout's name in a path inside a run's directory.
func rolloutOf(inside string) string {
	if parts := strings.Split(inside, string(filepath.Separator)); len(parts) > 1 && parts[0] == TrajectoriesDirectory {
		return parts[1]
	}
	return ""
}

func isFile(dir string, elements ...string) bool {
	_, err := storage.Size(storage.Join(dir, elements...))
	return err == nil
}
