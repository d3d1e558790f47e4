package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// local is the file system.
type local struct{}

// localFile is an open file of the file system.
type localFile struct {
	*os.File
	size int64
}

func (f localFile) Size() int64 { return f.size }

func (local) open(name string) (File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return localFile{file, info.Size()}, nil
}

func (local) read(name string) ([]byte, string, error) {
	data, err := os.ReadFile(name)
	return data, "", err
}

func (local) size(name string) (int64, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "stat", Path: name, Err: fmt.Errorf("no regular file: %w", fs.ErrNotExist)}
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (local) list(name string) ([]string, error) {
	entries, err := os.ReadDir(name)
	names := make([]string, len(entries))
	for i, entry := range entries {
		if names[i] = entry.Name(); entry.IsDir() {
			names[i] += "/"
		}
	}
	return names, err
}

// write reuses the temporary file of a crash.
func (s local) write(name string, data []byte, lasting bool) (err error) {
	old, missing := os.Stat(name)
	if missing == nil && old.IsDir() {
		return &fs.PathError{Op: "write", Path: name, Err: syscall.EISDIR}
	}
	file, err := s.create(name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}()
	if missing == nil {
		err = file.Chmod(old.Mode().Perm())
	}
	if err == nil {
		_, err = file.Write(data)
	}
	if lasting && err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if lasting {
		return s.publish(file.Name(), name, "")
	}
	return os.Rename(file.Name(), name)
}

func (s local) writeVersion(name string, data []byte, _ string) (string, error) {
	return "", s.write(name, data, true)
}

func (local) sync(name string) error { return syncFiles(name) }

func (local) remove(name string) error { return os.Remove(name) }

func (local) rename(from, to string) error { return os.Rename(from, to) }

// create returns a hidden file beside the path.
func (local) create(name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".new"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
}

func (local) publish(prepared, name, _ string) error {
	if err := os.Rename(prepared, name); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (s local) sum(name string) (_ string, err error) {
	file, err := s.open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return sumOf(file)
}
