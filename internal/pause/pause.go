// Package pause waits, and ends early with a context.
package pause

import (
	"context"
	"time"
)

// For waits for a duration. It returns false if ctx ends first.
func For(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
