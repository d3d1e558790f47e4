package storage

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncFiles syncs the file system of a directory. Syncing many thousand files one by one would need
// as many commits.
func syncFiles(dir string) (err error) {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := unix.Syncfs(int(d.Fd())); err != nil {
		return &os.PathError{Op: "syncfs", Path: dir, Err: err}
	}
	return nil
}
