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

// ErrInUse means that another process uses a directory.
var ErrInUse = errors.New("is in use by another process: wait until it ends")

const (
	// lockTimeout is how long to wait for an ending process, lockPoll the interval of attempts.
	lockTimeout = 200 * time.Millisecond
	lockPoll    = 20 * time.Millisecond
)

// lockDirectory makes a directory and locks it against other processes: two servers on the same
// streams would corrupt them. The lock ends with release, or with the process.
func lockDirectory(dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("data directory %s cannot be made: %w: choose another one", dir, err)
	}
	if release, err = Lock(filepath.Join(dir, "lock")); err != nil {
		return nil, fmt.Errorf("data directory %s %w", dir, err)
	}
	return release, nil
}

// Lock locks an empty file against other processes, and makes it if it is missing. The lock ends
// with release, or with the process. The error is ErrInUse if another process has it.
func Lock(path string) (release func() error, err error) {
	lock := flock.New(path)
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, lockPoll); errors.Is(err, context.DeadlineExceeded) {
		return nil, ErrInUse
	} else if err != nil {
		return nil, fmt.Errorf("cannot be locked: %w", err)
	}
	return lock.Close, nil
}
