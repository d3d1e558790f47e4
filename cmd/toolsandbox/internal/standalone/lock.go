package standalone

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// ErrInUse says that another process has an installation in the directory.
var ErrInUse = errors.New("in use by another process: wait until it has ended")

const (
	// lockFile lies in the directory of an installation. Nothing is stored in it.
	lockFile = "lock"
	// lockTimeout bounds waiting for a process that is about to end.
	lockTimeout = 200 * time.Millisecond
)

// lock keeps other processes from opening the same directory: two servers on the same streams would
// spoil them. It is a bbolt file for the sake of bbolt's file lock, which all systems have and
// which ends with the process.
type lock struct{ db *bbolt.DB }

// lockDirectory makes a directory and locks it.
func lockDirectory(dir string) (*lock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("data directory %s cannot be made: %w: choose another one", dir, err)
	}
	db, err := bbolt.Open(filepath.Join(dir, lockFile), 0o600, &bbolt.Options{Timeout: lockTimeout})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, fmt.Errorf("data directory %s is %w", dir, ErrInUse)
	case err != nil:
		return nil, fmt.Errorf("data directory %s cannot be locked: %w", dir, err)
	}
	return &lock{db: db}, nil
}

// release unlocks the directory; there is nothing to do without a lock.
func (l *lock) release() error {
	if l == nil {
		return nil
	}
	return l.db.Close()
}
