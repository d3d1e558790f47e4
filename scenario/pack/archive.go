package pack

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// ErrNotPack means that a path is not a pack.
var ErrNotPack = errors.New("not a pack")

const (
	// maxArchiveDepth is the maximum depth of folders in an archive.
	maxArchiveDepth = 10
	// encrypted is the flag of a file with a password.
	encrypted = 1
)

// Open returns the files of a pack: a directory, or a zip file of one. It reads a zip file into
// memory, so the caller need not close it. The files may be in one folder of the zip file. The
// error is ErrNotPack, or that of the file system.
func Open(name string) (fs.FS, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return directory(name), nil
	case !strings.HasSuffix(strings.ToLower(name), ".zip"):
		return nil, fmt.Errorf("%w: %s is neither a directory nor a .zip file of a pack, nor a .json or .jsonl file of records", ErrNotPack, name)
	}
	data, err := ReadFile(name, maxCatalogue)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNotPack, name, err)
	}
	files, err := unzip(data, defaultLimits())
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNotPack, name, err)
	}
	return files, nil
}

// IsPack reports whether files are those of a pack: they have pack.yaml, a catalogue, a visible
// YAML file at the top, or tools or measures in Python.
func IsPack(files fs.FS) bool {
	for _, pattern := range []string{"*" + yamlEnding, "*.yml", catalogueWire, catalogueJSON, form.ToolFolder + "/*.py", measureFolder + "/*.py"} {
		found, err := fs.Glob(files, pattern)
		if err != nil || slices.ContainsFunc(found, func(name string) bool { return !hidden(path.Base(name)) }) {
			return true
		}
	}
	return false
}

// unzip returns the files of an archive. It decompresses a file only when it is read.
func unzip(data []byte, limits limits) (fs.FS, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if len(archive.File) > limits.entries {
		return nil, fmt.Errorf("has %d files; at most %d are read", len(archive.File), limits.entries)
	}
	seen := make(map[string]bool, len(archive.File))
	top, shared := "", true
	for _, file := range archive.File {
		file.Name = strings.ReplaceAll(file.Name, `\`, "/") // some programs for Windows separate folders by it
		name := strings.TrimSuffix(file.Name, "/")
		switch {
		case !fs.ValidPath(name) || strings.Contains(name, ":"):
			return nil, fmt.Errorf("file %q leads out of the archive or has no plain name", file.Name)
		case slices.ContainsFunc(strings.Split(name, "/"), hidden):
			continue
		case strings.Count(name, "/") > maxArchiveDepth:
			return nil, fmt.Errorf("file %.80q lies in more than %d folders", file.Name, maxArchiveDepth)
		case !file.Mode().IsRegular() && !file.Mode().IsDir():
			return nil, fmt.Errorf("file %q is neither a file nor a directory", file.Name)
		case file.Flags&encrypted != 0:
			return nil, fmt.Errorf("file %q is encrypted; pack it without a password", file.Name)
		case seen[name]:
			return nil, fmt.Errorf("file %q occurs twice", file.Name)
		}
		seen[name] = true
		first, _, below := strings.Cut(name, "/")
		if len(seen) == 1 {
			top = first
		}
		shared = shared && first == top && (below || file.Mode().IsDir())
	}
	if shared && top != "" {
		return fs.Sub(archive, path.Clean(top))
	}
	return archive, nil
}
