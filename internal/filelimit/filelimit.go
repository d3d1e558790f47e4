// Package filelimit checks the limit of open files and sockets of this process.
package filelimit

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"
)

// ErrLimit means that the limit of open files is too low.
var ErrLimit = errors.New("out of file descriptors")

const (
	// Reserve is the number of descriptors that a process needs besides the sockets that its caller
	// counts: streams, stores, result files, connections between services.
	Reserve = 512
	// minimum is the number of descriptors below which no command starts. A run in one process opens
	// about 30, and with fewer its streams fail without a reason.
	minimum = 64
	// advised is the limit that messages name.
	advised = 4096
)

// Limit returns the limit of open files and sockets. The Go runtime has already raised it to the
// hard limit.
func Limit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt {
		return math.MaxInt
	}
	return int(limit.Cur)
}

// CheckMinimum returns ErrLimit if no command can work within the limit.
func CheckMinimum() error {
	if limit := Limit(); limit < minimum {
		return fmt.Errorf("%w (limit %d): raise it with ulimit -n %d, at least %d are needed", ErrLimit, limit, advised, minimum)
	}
	return nil
}

// Check returns ErrLimit if sockets and Reserve exceed the limit. The error names all numbers.
func Check(sockets int) error {
	if limit := Limit(); sockets > limit-Reserve {
		return fmt.Errorf("%w (limit %d): raise it with ulimit -n %d, because %d sockets and %d other files are needed", ErrLimit, limit, max(advised, sockets+Reserve), sockets, Reserve)
	}
	return nil
}

// WithLimit adds the limit to an error that results from it, of this process or in the text of
// another service's status. It returns any other error unchanged, with exhausted false.
func WithLimit(err error) (explained error, exhausted bool) { //nolint:revive // the error is what is asked for
	if err == nil || errors.Is(err, ErrLimit) {
		return err, err != nil
	}
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) && !isShortage(err.Error()) {
		return err, false
	}
	return fmt.Errorf("%w (limit %d): raise it with ulimit -n %d, or lower --parallel: %w", ErrLimit, Limit(), max(advised, 2*Limit()), err), true
}

// isShortage recognises the texts of the two errors, which statuses and logs carry.
func isShortage(text string) bool {
	return strings.Contains(text, syscall.EMFILE.Error()) || strings.Contains(text, syscall.ENFILE.Error())
}
