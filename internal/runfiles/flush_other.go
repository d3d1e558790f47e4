//go:build !linux

package runfiles

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// flush syncs everything in a directory.
func flush(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(file.Sync(), file.Close())
	})
}
