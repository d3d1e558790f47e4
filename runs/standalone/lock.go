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

// ErrInUse means that another process uses the directory of an installation.
var ErrInUse = errors.New("in use by another process: wait until it ends")

const (
	// lockFile is an empty file in the directory of an installation.
	lockFile = "lock"
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
