package standalone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// ErrInUse says that another process has an installation in the directory.
var ErrInUse = errors.New("in use by another process: wait until it ends")

const (
	// lockFile lies in the directory of an installation. Nothing is stored in it.
	lockFile = "lock"
	// lockTimeout bounds waiting for a process that is about to end, lockPoll is the pause between
	// two looks.
	lockTimeout = 200 * time.Millisecond
	lockPoll    = 20 * time.Millisecond
)

// lockDirectory makes a directory and keeps other processes from opening it: two servers on the
// same streams would spoil them. The lock ends with release, or with the process.
func lockDirectory(dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("data directory %s cannot be made: %w: choose another one", dir, err)
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, lockPoll); errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("data directory %s is %w", dir, ErrInUse)
	} else if err != nil {
		return nil, fmt.Errorf("data directory %s cannot be locked: %w", dir, err)
	}
	return lock.Close, nil
}
