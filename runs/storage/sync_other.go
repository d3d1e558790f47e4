//go:build !linux

package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// syncFiles syncs all files in a directory.
func syncFiles(dir string) error {
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
