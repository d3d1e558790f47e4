package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/natstest"
)

// numbers follows the numbers of rollouts at once until a sweep has been told, and returns those of
// all sweeps in the order in which they came.
func numbers(t *testing.T, b *bus.Bus, last string) map[string][]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	told := make(map[string][]int)
	err := b.FollowParallel(ctx, func(sweepID string, parallel int) {
		told[sweepID] = append(told[sweepID], parallel)
		if sweepID == last {
			cancel()
		}
	})
	if err != nil || told[last] == nil {
		t.Fatalf("FollowParallel: got %v and %v, want nil and a number of %s", err, told, last)
	}
	return told
}

// TestParallel shows which number counts: that of the highest round, and in it the last one. Who
// follows later is told only that.
func TestParallel(t *testing.T) {
	b := natstest.Start(t)
	set := func(sweepID string, parallel, round int32) {
		t.Helper()
		if err := b.SetParallel(t.Context(), sweepID, parallel, round); err != nil {
			t.Fatal(err)
		}
	}
	set("free", 0, 0) // what holds anyway
	set("other", 7, 0)
	for i, step := range []struct{ parallel, round, want int }{
		{2, 0, 2}, {8, 0, 8}, {4, 1, 4}, {4, 1, 4}, {16, 0, 4}, {16, 2, 16}, {3, 2, 3}, {0, 3, 0}, {5, 2, 0},
	} {
		set("s", int32(step.parallel), int32(step.round))
		end := string(rune('a' + i))
		set(end, 1, 0)
		got := numbers(t, b, end)
		if diff := cmp.Diff(map[string][]int{"s": {step.want}, "other": {7}}, map[string][]int{"s": got["s"], "other": got["other"]}); diff != "" || got["free"] != nil {
			t.Errorf("after %+v, with %v of a sweep that was never limited (-want +got):\n%s", step, got["free"], diff)
		}
	}
}
