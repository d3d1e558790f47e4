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
// failure there are none of them. A directory that did not exist appears with all its files at
// once, so a killed process leaves no part of it. It belongs to one goroutine.
type Batch struct {
	dir, hidden string
	made        bool // the directory did not exist
	names       []string
}

// NewBatch returns an empty batch for a directory, which End makes if there is none. End must be
// called. The error is ErrNoDirectory for a path that is none.
func NewBatch(dir string) (*Batch, error) {
	if IsBucket(dir) {
		return nil, fmt.Errorf("%s is %w: it is in a bucket", dir, ErrNoDirectory)
	}
	b := &Batch{dir: filepath.Clean(dir)}
	_, err := os.Lstat(b.dir)
	b.made = errors.Is(err, fs.ErrNotExist)
	parent := b.dir
	if b.made {
		parent = filepath.Dir(b.dir)
	}
	err = os.MkdirAll(parent, 0o755)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is %w", dir, ErrNoDirectory)
	}
	if err != nil {
		return nil, err
	}
	if b.hidden, err = os.MkdirTemp(parent, ".new-"); err != nil {
		return nil, err
	}
	if err = os.Mkdir(b.files(), 0o755); err != nil {
		return nil, errors.Join(err, os.Remove(b.hidden))
	}
	return b, nil
}

// files is the directory that has the files until End.
func (b *Batch) files() string { return filepath.Join(b.hidden, "files") }

// Add adds a file, whose content write writes, by its path below the directory. The error is
// fs.ErrExist if the directory has one.
func (b *Batch) Add(name string, write func(io.Writer) error) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q is no path below a directory", name)
	}
	if path := filepath.Join(b.dir, name); exists(path) {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	path := filepath.Join(b.files(), name)
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
	if err == nil {
		if b.made {
			err = os.Rename(b.files(), b.dir)
		} else {
			err = b.link()
		}
	}
	if err = errors.Join(err, os.RemoveAll(b.hidden)); err != nil {
		return nil, err
	}
	for _, name := range b.names {
		paths = append(paths, filepath.Join(b.dir, name))
	}
	return paths, nil
}

// link gives the files their paths in a directory that exists, or none of them.
func (b *Batch) link() (err error) {
	var placed []string
	for _, name := range b.names {
		path := filepath.Join(b.dir, name)
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.Link(filepath.Join(b.files(), name), path) // unlike a rename, it replaces nothing
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
	}
	return err
}
