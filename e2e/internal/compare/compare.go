// Package compare compares the files of two runs.
package compare

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Runs returns one line per difference between the result files of two run directories: missing
// files and files that are not byte-identical. It ignores .toolsandbox and run.json.
func Runs(a, b string) ([]string, error) {
	left, err := files(a)
	if err != nil {
		return nil, err
	}
	right, err := files(b)
	if err != nil {
		return nil, err
	}
	var differences []string
	for _, name := range left {
		if _, found := slices.BinarySearch(right, name); !found {
			differences = append(differences, fmt.Sprintf("%s: only in %s", name, a))
			continue
		}
		difference, err := contents(name, a, b)
		if err != nil {
			return nil, err
		}
		if difference != "" {
			differences = append(differences, difference)
		}
	}
	for _, name := range right {
		if _, found := slices.BinarySearch(left, name); !found {
			differences = append(differences, fmt.Sprintf("%s: only in %s", name, b))
		}
	}
	return differences, nil
}

// files returns the relative paths of all result files, sorted.
func files(root string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == ".toolsandbox" {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(root, path)
		if name != "run.json" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list files of %s: %w", root, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no file in %s", root)
	}
	slices.Sort(names)
	return names, nil
}

// contents returns the first line in which a file differs, empty if there is none.
func contents(name, a, b string) (string, error) {
	left, err := os.ReadFile(filepath.Join(a, name))
	if err != nil {
		return "", err
	}
	right, err := os.ReadFile(filepath.Join(b, name))
	if err != nil {
		return "", err
	}
	if bytes.Equal(left, right) {
		return "", nil
	}
	leftLines, rightLines := bytes.Split(left, []byte("\n")), bytes.Split(right, []byte("\n"))
	for i := range min(len(leftLines), len(rightLines)) {
		if !bytes.Equal(leftLines[i], rightLines[i]) {
			return fmt.Sprintf("%s:%d: %q and %q", name, i+1, leftLines[i], rightLines[i]), nil
		}
	}
	return fmt.Sprintf("%s: %d lines and %d lines", name, len(leftLines), len(rightLines)), nil
}
