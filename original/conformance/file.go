package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	scenariosFile = "scenarios.json"
	worldsFile    = "worlds.json"
	toolsFolder   = "tools"
	vectorSuffix  = ".jsonl"
	// maxLine is the largest size of a line in bytes.
	maxLine = 64 << 20
)

// Files returns the vector files of the given paths: a file itself, or the .jsonl files in a folder
// and its subfolders in lexical order. The error names a path that does not exist or a folder
// without vectors.
func Files(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		found, err := filesBelow(path)
		if err != nil {
			return nil, fmt.Errorf("read vectors: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("read vectors: no %s file in %s", vectorSuffix, path)
		}
		files = append(files, found...)
	}
	return files, nil
}

func filesBelow(path string) (files []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	root := path + string(filepath.Separator) + "." // follows a symbolic link
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(name) == vectorSuffix {
			files = append(files, name)
		}
		return err
	})
	return files, err
}

// firstLine returns the first non-empty line of a file.
func firstLine(path string) ([]byte, error) {
	var first []byte
	err := eachLine(path, func(l line) bool { first = l.raw; return false })
	if err == nil && first == nil {
		err = fmt.Errorf("%s: %w: it is empty", path, ErrKind)
	}
	return first, err
}

// eachLine calls visit for each non-empty line until visit returns false. visit may retain the
// line.
func eachLine(path string, visit func(line) bool) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read vectors: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, 64<<10), maxLine)
	for number := 1; scanner.Scan(); number++ {
		if len(scanner.Bytes()) > 0 && !visit(line{number: number, raw: slices.Clone(scanner.Bytes())}) {
			return nil
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read vectors %s: %w", path, err)
	}
	return nil
}

// decodeAll decodes each line of a file.
func decodeAll[T any](path string, decode func(line) (T, error)) (all []T, err error) {
	var wrong error
	err = eachLine(path, func(l line) bool {
		var one T
		if one, wrong = decode(l); wrong != nil {
			wrong = fmt.Errorf("%s:%d: %w", path, l.number, wrong)
			return false
		}
		all = append(all, one)
		return true
	})
	return all, errors.Join(err, wrong)
}

// findUpward returns the file of a name in the folder of path or its nearest parent. The error
// names flag, with which the user can set the file.
func findUpward(path, name, flag string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	for dir := filepath.Dir(absolute); ; dir = filepath.Dir(dir) {
		if candidate := filepath.Join(dir, name); isFile(candidate) {
			return candidate, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no %s in its folder or the parents: give --%s", name, flag)
		}
	}
}

// findWorlds returns the file of worlds for a file of tool calls.
func findWorlds(path, scenarios string) (string, error) {
	found, err := findUpward(path, worldsFile, "worlds")
	if err == nil || scenarios == "" {
		return found, err
	}
	dir := filepath.Dir(scenarios)
	for _, candidate := range []string{filepath.Join(dir, worldsFile), filepath.Join(dir, toolsFolder, worldsFile)} {
		if isFile(candidate) {
			return candidate, nil
		}
	}
	return "", err
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
