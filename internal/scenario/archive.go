package scenario

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// ErrPack says that a path holds no pack.
var ErrPack = errors.New("not a pack")

// Bounds of a zipped pack.
const (
	maxArchive      = 256 << 20
	maxUnpacked     = 1 << 30
	maxArchiveFiles = 10000
)

// OpenPack returns the files of a pack, a directory or a zip file of one. A zip file is read into memory and needs no
// closing; its files may lie in one folder at its top. The error is ErrPack, or that of the file system.
func OpenPack(name string) (fs.FS, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return os.DirFS(name), nil
	case !strings.HasSuffix(strings.ToLower(name), ".zip"):
		return nil, fmt.Errorf("%w: %s is neither a directory nor a .zip file", ErrPack, name)
	case info.Size() > maxArchive:
		return nil, fmt.Errorf("%w: %s has %d bytes; at most %d are read", ErrPack, name, info.Size(), maxArchive)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	files, err := unzip(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrPack, name, err)
	}
	return files, nil
}

// unzip returns the files of an archive. Reading one stops at the size that the archive states for it.
func unzip(data []byte) (fs.FS, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if len(archive.File) > maxArchiveFiles {
		return nil, fmt.Errorf("has %d files; at most %d are read", len(archive.File), maxArchiveFiles)
	}
	var size uint64
	top, shared := "", true
	for i, file := range archive.File {
		name := strings.TrimSuffix(file.Name, "/")
		switch {
		case !fs.ValidPath(name) || strings.ContainsAny(name, `\:`):
			return nil, fmt.Errorf("file %q leads out of the archive or has no plain name", file.Name)
		case !file.Mode().IsRegular() && !file.Mode().IsDir():
			return nil, fmt.Errorf("file %q is neither a file nor a directory", file.Name)
		case file.UncompressedSize64 > maxUnpacked:
			return nil, fmt.Errorf("file %q has %d bytes; at most %d are read", file.Name, file.UncompressedSize64, maxUnpacked)
		}
		if size += file.UncompressedSize64; size > maxUnpacked {
			return nil, fmt.Errorf("has more than %d bytes unpacked", maxUnpacked)
		}
		first, _, below := strings.Cut(name, "/")
		if i == 0 {
			top = first
		}
		shared = shared && first == top && (below || file.Mode().IsDir())
	}
	if shared && top != "" && !layout(top) {
		return fs.Sub(archive, path.Clean(top))
	}
	return archive, nil
}

// layout says whether a folder belongs to a pack's own.
func layout(name string) bool { return name == "worlds" || name == "recordings" }
