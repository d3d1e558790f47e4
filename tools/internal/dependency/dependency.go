// Package dependency checks that the reason for every direct dependency of a module is written
// down.
package dependency

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Modules returns the directories that a go.work file uses, in its order.
func Modules(goWork []byte) ([]string, error) {
	file, err := modfile.ParseWork("go.work", goWork, nil)
	if err != nil {
		return nil, fmt.Errorf("read workspace: %w", err)
	}
	dirs := make([]string, 0, len(file.Use))
	for _, use := range file.Use {
		dirs = append(dirs, use.Path)
	}
	return dirs, nil
}

// Direct returns the module paths that a go.mod file requires directly or has a tool of, sorted,
// without those that begin with own.
func Direct(goMod []byte, own string) ([]string, error) {
	file, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	found := map[string]bool{}
	for _, require := range file.Require {
		if !require.Indirect {
			found[require.Mod.Path] = true
		}
	}
	for _, tool := range file.Tool {
		found[owner(file, tool.Path)] = true
	}
	maps.DeleteFunc(found, func(path string, _ bool) bool { return inside(path, own) })
	return slices.Sorted(maps.Keys(found)), nil
}

// owner returns the required module that has a package: the longest path that the package is inside
// of.
func owner(file *modfile.File, pkg string) string {
	best := ""
	for _, require := range file.Require {
		if path := require.Mod.Path; inside(pkg, path) && len(path) > len(best) {
			best = path
		}
	}
	if best == "" {
		return pkg
	}
	return best
}

func inside(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// Documented returns the module paths that a Markdown file gives a reason for: those in lines of
// the form "- `path`: reason". A path that stands there twice is an error.
func Documented(markdown []byte) (map[string]bool, error) {
	found := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(markdown))
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), "- `")
		if !ok {
			continue
		}
		path, reason, ok := strings.Cut(rest, "`: ")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("no reason in %q, expected \"- `module path`: reason\"", lines.Text())
		}
		if found[path] {
			return nil, fmt.Errorf("%s is described twice", path)
		}
		found[path] = true
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read reasons: %w", err)
	}
	return found, nil
}
