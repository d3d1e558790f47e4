package worker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
)

// TestHands lets all who wait on when one is done, and stops counting one that takes long.
func TestHands(t *testing.T) {
	h := hands{free: semaphore.NewWeighted(1)}
	release, err := h.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []int
	var group sync.WaitGroup
	for i := range 3 {
		group.Go(func() {
			next, err := h.take(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			next()
		})
		time.Sleep(20 * time.Millisecond)
	}
	release()
	release() // again: nothing happens
	group.Wait()
	if len(order) != 3 {
		t.Fatalf("got on: %v, want all three", order)
	}
	begun := time.Now()
	if _, err := h.take(t.Context()); err != nil { // and keeps it
		t.Fatal(err)
	}
	second, err := h.take(t.Context())
	if took := time.Since(begun); err != nil || took < handLimit/2 {
		t.Errorf("beside one who takes long: got on after %s with %v, want after %s", took, err, handLimit)
	}
	ended, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	if _, err := h.take(ended); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while nobody is done: got %v, want %v", err, context.DeadlineExceeded)
	}
	second()
}
