package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// ErrNoDirectory means that there is a file, or a bucket, where a directory is wanted.
var ErrNoDirectory = errors.New("no directory")

// Batch is new files of a directory of the file system, which appear there together: after a
// failure there are none of them. It belongs to one goroutine.
type Batch struct {
	dir, hidden string
	made        bool // the directory did not exist
	names       []string
}

// NewBatch returns an empty batch for a directory, which it makes. End must be called. The error is
// ErrNoDirectory for a path that is none.
func NewBatch(dir string) (*Batch, error) {
	if IsBucket(dir) {
		return nil, fmt.Errorf("%s is %w: it is in a bucket", dir, ErrNoDirectory)
	}
	_, missing := os.Stat(dir)
	err := os.MkdirAll(dir, 0o755)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is %w", dir, ErrNoDirectory)
	}
	if err != nil {
		return nil, err
	}
	hidden, err := os.MkdirTemp(dir, ".new-")
	return &Batch{dir: dir, hidden: hidden, made: errors.Is(missing, fs.ErrNotExist)}, err
}

// Add adds a file, whose content write writes, by its path below the directory. The error is
// fs.ErrExist if the directory has one.
func (b *Batch) Add(name string, write func(io.Writer) error) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q is no path below a directory", name)
	}
	if path := filepath.Join(b.dir, name); exists(path) {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	path := filepath.Join(b.hidden, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	b.names = append(b.names, name)
	return errors.Join(write(file), file.Close())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// End gives the files their paths, which it returns in their order, unless err says what has
// failed; it returns that as well. It replaces no file.
func (b *Batch) End(err error) (paths []string, _ error) {
	var placed []string
	for _, name := range b.names {
		path := filepath.Join(b.dir, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.Link(filepath.Join(b.hidden, name), path) // unlike a rename, it replaces nothing
		}
		if err != nil {
			break
		}
		placed = append(placed, path)
	}
	if err != nil {
		for _, path := range slices.Backward(placed) {
			err = errors.Join(err, os.Remove(path))
		}
		placed = nil
	}
	err = errors.Join(err, os.RemoveAll(b.hidden))
	if err != nil && b.made {
		_ = os.Remove(b.dir) // fails for a directory that somebody else has filled
	}
	return placed, err
}
