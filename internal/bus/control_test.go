package bus_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

func controlOf(t *testing.T, b *bus.Bus) *busv1.SweepControl {
	t.Helper()
	control, err := b.Control(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	return control
}

// TestConfigure checks that the limits of the first creation of the highest round apply, and that
// only they end an exhaustion.
func TestConfigure(t *testing.T) {
	b := natstest.Start(t)
	var want *busv1.SweepControl
	for i, step := range []struct {
		parallel, round int32
		applies         bool
	}{{2, 0, true}, {8, 0, false}, {4, 1, true}, {4, 1, false}, {16, 0, false}, {16, 2, true}, {3, 2, false}, {0, 3, true}, {5, 2, false}} {
		if err := b.UpdateControl(t.Context(), "s", func(c *busv1.SweepControl) bool { c.Exhausted = "all of it"; return true }); err != nil {
			t.Fatal(err)
		}
		limit := &agentgwv1.SpendLimit{Tokens: int64(i + 1)}
		if err := b.UpdateControl(t.Context(), "s", bus.Creation{SpendLimit: limit, Parallel: step.parallel, Round: step.round}.Apply); err != nil {
			t.Fatal(err)
		}
		if step.applies {
			want = &busv1.SweepControl{
				Parallel: step.parallel, LimitsRound: proto.Int32(step.round), SpendLimit: limit, EarlierLimit: want.GetSpendLimit(),
			}
		} else {
			want.Exhausted = "all of it"
		}
		if diff := cmp.Diff(want, controlOf(t, b), protocmp.Transform()); diff != "" {
			t.Errorf("after %+v (-want +got):\n%s", step, diff)
		}
	}
}

func TestCancelledRounds(t *testing.T) {
	b := natstest.Start(t)
	if control := controlOf(t, b); bus.Cancelled(control, 0) || bus.Cancelled(nil, 0) {
		t.Errorf("before: got %v, want nothing cancelled", control)
	}
	for _, step := range []struct{ cancel, last int32 }{{0, 0}, {0, 0}, {2, 2}, {1, 2}} {
		if err := b.CancelSweep(t.Context(), "s", step.cancel); err != nil {
			t.Fatal(err)
		}
		control := controlOf(t, b)
		if !bus.Cancelled(control, step.last) || bus.Cancelled(control, step.last+1) {
			t.Errorf("after the cancellation of round %d: got %v, want those up to %d", step.cancel, control, step.last)
		}
	}
}

// TestUpdateControlConcurrently checks that concurrent updates of a document lose no change.
func TestUpdateControlConcurrently(t *testing.T) {
	b := natstest.Start(t)
	const writers, changes = 8, 10
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() {
			for n := range changes {
				change := &busv1.SweepRound{Number: int32(writer*changes + n + 1)}
				err := b.UpdateControl(t.Context(), "s", func(c *busv1.SweepControl) bool {
					if bus.Rounds(c.GetRounds()).HasStarted(change.GetNumber()) {
						return false // after a lost acknowledgement
					}
					c.Rounds = append(c.GetRounds(), change)
					return true
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got := len(controlOf(t, b).GetRounds()); got != writers*changes {
		t.Errorf("changes: got %d, want %d", got, writers*changes)
	}
}

// TestWatchControl watches stored and later control states, of one sweep and of all.
func TestWatchControl(t *testing.T) {
	b := natstest.Start(t)
	set := func(sweepID string, parallel int32) {
		t.Helper()
		if err := b.UpdateControl(t.Context(), sweepID, func(c *busv1.SweepControl) bool {
			changed := c.GetParallel() != parallel
			c.Parallel = parallel
			return changed
		}); err != nil {
			t.Fatal(err)
		}
	}
	set("free", 0) // what holds anyway
	set("s", 1)
	set("s", 2)
	set("other", 7)
	for name, want := range map[string]map[string][]int32{
		"s": {"s": {2, 3}}, "": {"s": {2, 3}, "other": {7}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		got := make(map[string][]int32)
		err := b.WatchControl(ctx, name, func(sweepID string, control *busv1.SweepControl) {
			got[sweepID] = append(got[sweepID], control.GetParallel())
			if control.GetParallel() == 3 {
				cancel()
			}
			if len(got) == len(want) && len(got["s"]) == 1 {
				set("s", 3)
			}
		})
		cancel()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("sweep %q: error %v, states (-want +got):\n%s", name, err, diff)
		}
		if err := b.UpdateControl(t.Context(), "s", func(c *busv1.SweepControl) bool { proto.Reset(c); c.Parallel = 2; return true }); err != nil {
			t.Fatal(err)
		}
	}
}
