package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
)

// TestLimiter lets those who wait on in the order in which they came.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := activeLimiter{active: semaphore.NewWeighted(1)}
		release := take(t, h)
		var order []int
		var group sync.WaitGroup
		for i := range 3 {
			group.Go(func() {
				next := take(t, h)
				order = append(order, i)
				next()
			})
			synctest.Wait()
		}
		release()
		release() // again: nothing happens
		group.Wait()
		if want := []int{0, 1, 2}; !slices.Equal(order, want) {
			t.Errorf("got on in the order %v, want %v", order, want)
		}
	})
}

// TestLimiterIsHeldLong lets others on beside one that is active for longer than the limit.
func TestLimiterIsHeldLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := activeLimiter{active: semaphore.NewWeighted(1)}
		first := take(t, h)
		begun := time.Now()
		second := take(t, h)
		if took := time.Since(begun); took != maxActiveTime {
			t.Errorf("got on after %s, want after %s", took, maxActiveTime)
		}
		first() // too late: its hand is another's by now
		ended, end := context.WithTimeout(t.Context(), maxActiveTime/2)
		defer end()
		if _, err := h.acquire(ended); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while nobody is done: got %v, want %v", err, context.DeadlineExceeded)
		}
		second()
		take(t, h)()
	})
}

// take takes a hand and fails the test if that fails.
func take(t *testing.T, h activeLimiter) (release func()) {
	t.Helper()
	release, err := h.acquire(t.Context())
	if err != nil {
		t.Error(err)
		return func() {}
	}
	return release
}
