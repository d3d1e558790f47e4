package runfiles

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flush syncs the whole file system of a directory. Syncing each of many thousand files would wait
// for as many commits.
func flush(dir string) (err error) {
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
