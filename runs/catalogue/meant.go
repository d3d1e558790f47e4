package catalogue

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/packs"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
)

const (
	// meantLevels is how many folders above and below a path are searched for a pack.
	meantLevels = 3
	// meantFolders bounds the folders that are searched below a path.
	meantFolders = 200
	// meantPacks is the maximum number of packs in a message.
	meantPacks = 3
)

// isPack reports whether a path is a pack and no folder of one: a pack without a description whose
// parent has one is a folder of worlds or recordings. The original's folders have tools in Python,
// too.
func isPack(name string, files fs.FS) bool {
	if _, err := fs.Stat(files, pack.ManifestFile); err == nil {
		return true
	}
	if !pack.IsPack(files) || exists(filepath.Join(filepath.Clean(name), ".."), pack.ManifestFile) {
		return false
	}
	described, err := fs.Glob(files, "*.yaml")
	return err != nil || len(described) > 0 || original(name) == ""
}

// original returns the folder of the original program that a path is in, if any.
func original(name string) string { return above(name, "tool_sandbox", "scenarios") }

// meantPack returns the suffix of a message about a path that is no pack: what was probably meant.
func meantPack(name string) string {
	if suggestion := spelling.Nearest(name, packs.Names(), 2); suggestion != "" && !exists(name) {
		return fmt.Sprintf("; did you mean %q?", suggestion)
	}
	if above := above(name, pack.ManifestFile); above != "" {
		return didYouMean([]string{above})
	}
	if checkout := original(name); checkout != "" {
		return fmt.Sprintf("; %s is the original program: export its scenarios and import them with toolsandbox scenario import (see README.md)", checkout)
	}
	if found := below(name); len(found) > 0 {
		return didYouMean(found)
	}
	for _, beside := range []string{name + ".zip", strings.TrimSuffix(name, filepath.Ext(name))} {
		if beside != name && opensAsPack(beside) {
			return didYouMean([]string{beside})
		}
	}
	if exists(name, results.RunFile) {
		return "; it is the directory of a run: --replay " + report.ShellWord(name) + " plays its scenarios again"
	}
	return ""
}

func didYouMean(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return "; did you mean " + strings.Join(quoted, " or ") + "?"
}

func exists(elements ...string) bool {
	_, err := os.Stat(filepath.Join(elements...))
	return err == nil
}

// above returns the nearest folder, from the path itself, that contains a file.
func above(name string, file ...string) string {
	folder := filepath.Clean(name)
	for range meantLevels + 1 {
		if exists(append([]string{folder}, file...)...) {
			return folder
		}
		parent := filepath.Join(folder, "..")
		if parent == folder {
			break
		}
		folder = parent
	}
	return ""
}

// below returns the first folders and zip files with a pack's description below a path.
func below(name string) []string {
	var found []string
	left := meantFolders
	_ = filepath.WalkDir(name, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case left == 0 || len(found) == meantPacks:
			return fs.SkipAll
		case entry.IsDir():
			left--
			depth := strings.Count(strings.TrimPrefix(filepath.Clean(at), filepath.Clean(name)), string(filepath.Separator))
			if at != name && (depth > meantLevels || strings.HasPrefix(entry.Name(), ".")) {
				return fs.SkipDir
			}
			if exists(at, pack.ManifestFile) {
				found = append(found, at)
				return fs.SkipDir
			}
		case filepath.Ext(at) == ".zip" && opensAsPack(at):
			found = append(found, at)
		}
		return nil
	})
	return found
}

func opensAsPack(name string) bool {
	files, err := pack.Open(name)
	return err == nil && isPack(name, files)
}
