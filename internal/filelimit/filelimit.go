// Package filelimit checks the limit of open files and sockets of this process.
package filelimit

import (
	"errors"
	"fmt"
	"math"
	"syscall"
)

// ErrLimit means that the limit of open files is too low.
var ErrLimit = errors.New("too few open files are allowed")

// Reserve is the number of descriptors that a process needs besides the sockets that its caller
// counts: streams, stores, result files, connections between services.
const Reserve = 512

// Limit returns the limit of open files and sockets. The Go runtime has already raised it to the
// hard limit.
func Limit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt {
		return math.MaxInt
	}
	return int(limit.Cur)
}

// Check returns ErrLimit if sockets and Reserve exceed the limit. The error names all numbers.
func Check(sockets int) error {
	if limit := Limit(); sockets > limit-Reserve {
		return fmt.Errorf("%w: %d sockets and %d other files are needed, the limit is %d (ulimit -n)", ErrLimit, sockets, Reserve, limit)
	}
	return nil
}

// WithLimit adds the limit to an error that results from it. It returns any other error unchanged,
// with exhausted false.
func WithLimit(err error) (explained error, exhausted bool) { //nolint:revive // the error is what is asked for
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return err, false
	}
	return fmt.Errorf("%w, the limit is %d (ulimit -n): raise it, or lower --parallel: %w", ErrLimit, Limit(), err), true
}
