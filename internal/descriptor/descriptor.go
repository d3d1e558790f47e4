// Package descriptor says how many files and sockets this process may have open at once, and
// whether that is enough.
package descriptor

import (
	"errors"
	"fmt"
	"math"
	"syscall"
)

// ErrLimit says that more files and sockets are needed than the process may have open.
var ErrLimit = errors.New("too few open files are allowed")

// Reserve is what a process needs beside the sockets that its caller counts: streams, stores,
// result files, connections between services.
const Reserve = 512

// Limit returns how many files and sockets this process may have open. The runtime has raised it to
// the hard limit already.
func Limit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt {
		return math.MaxInt
	}
	return int(limit.Cur)
}

// Check returns ErrLimit if so many sockets, and Reserve, are more than the limit. The error names
// all numbers.
func Check(sockets int) error {
	if limit := Limit(); sockets > limit-Reserve {
		return fmt.Errorf("%w: %d sockets and %d other files are needed, the limit is %d (ulimit -n)", ErrLimit, sockets, Reserve, limit)
	}
	return nil
}

// Explain adds the limit to an error that came because it was reached. Any other error is returned
// as it is, and exhausted is false.
func Explain(err error) (explained error, exhausted bool) { //nolint:revive // the error is what is asked for
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return err, false
	}
	return fmt.Errorf("%w, the limit is %d (ulimit -n): raise it, or lower --parallel: %w", ErrLimit, Limit(), err), true
}
