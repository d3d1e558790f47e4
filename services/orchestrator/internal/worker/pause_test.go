package worker

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// pause pauses or continues a sweep.
func (s *stage) pause(t *testing.T, sweepID string, paused bool) {
	t.Helper()
	if err := s.UpdateControl(t.Context(), sweepID, func(c *busv1.SweepControl) bool { c.Paused = paused; return true }); err != nil {
		t.Fatal(err)
	}
}

// asked counts the requests for turns of each sweep, and blocks those of a rollout while it can.
type asked struct {
	mu    sync.Mutex
	times map[string]int // by rollout and index
	block map[string]chan struct{}
}

func (a *asked) respond(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	a.mu.Lock()
	turn := fmt.Sprintf("%s/%d", req.GetRolloutId(), req.GetIndex())
	a.times[turn]++
	blocked := a.block[turn]
	a.mu.Unlock()
	if blocked != nil {
		<-blocked
	}
	return nil, nil
}

func (a *asked) of(turn string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.times[turn]
}

func (a *asked) total() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, times := range a.times {
		n += times
	}
	return n
}

// TestPause pauses a sweep with one turn in flight and jobs that wait for a slot. The turn is
// recorded, nothing is asked after it, and the worker holds no job. A worker that is killed and one
// that starts keep the pause. The sweep goes on at the next message, and no turn is asked twice.
func TestPause(t *testing.T) {
	s := newStage(t)
	answer := make(chan struct{})
	a := &asked{times: make(map[string]int), block: map[string]chan struct{}{"s.0/1": answer}}
	s.gateway.respond = a.respond
	one := s.worker(t, func(c *Config) { c.Parallel = 1 }, nil)
	stop := run(t.Context(), t, one)
	s.enqueue(t, 0, "s.0", "s.1", "s.2")
	until(t, "the first turn is asked for", func() bool { return a.of("s.0/1") == 1 })
	until(t, "a job waits for the slot", func() bool { _, ahead := one.scheduler.counts("s"); return ahead > 0 })
	s.pause(t, "s", true)
	until(t, "no job waits", func() bool { _, ahead := one.scheduler.counts("s"); return ahead == 0 })
	close(answer)
	until(t, "the worker holds nothing", func() bool {
		running, ahead := one.scheduler.counts("s")
		return running+ahead+len(one.heldDeliveries()) == 0
	})
	if n := len(s.state(t, "s.0").Messages()); n < 2 {
		t.Errorf("messages after the turn in flight: got %d, want the recorded turn too", n)
	}
	before := a.total()
	s.enqueue(t, 0, "other.0") // another sweep goes on
	s.ended(t, "other.0")
	stop()
	two := s.worker(t, nil, nil)
	run(t.Context(), t, two)
	s.enqueue(t, 0, "other.1")
	s.ended(t, "other.1")
	until(t, "the new worker looks after the paused sweep", func() bool {
		two.scheduler.mu.Lock()
		defer two.scheduler.mu.Unlock()
		return two.scheduler.sweeps["s"] != nil && two.scheduler.controls["s"].paused
	})
	pause := time.NewTimer(2 * releaseDelay) // in which an attempt would come
	<-pause.C
	if of := a.total() - before; of != a.totalOf("other") {
		t.Errorf("turns that were asked for during the pause: got %d, want those of the other sweep, %d", of, a.totalOf("other"))
	}
	s.pause(t, "s", false)
	s.ended(t, "s.0", "s.1", "s.2")
	a.mu.Lock()
	defer a.mu.Unlock()
	for turn, n := range a.times {
		if n > 1 {
			t.Errorf("turn %s: asked for %d times, want once", turn, n)
		}
	}
}

func (a *asked) totalOf(sweep string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for turn, times := range a.times {
		if len(turn) > len(sweep) && turn[:len(sweep)+1] == sweep+"." {
			n += times
		}
	}
	return n
}

// TestPausedSweepIsCancelled cancels a paused sweep: its rollouts end, and none asks for a turn.
func TestPausedSweepIsCancelled(t *testing.T) {
	s := newStage(t)
	a := &asked{times: make(map[string]int)}
	s.gateway.respond = a.respond
	s.pause(t, "s", true)
	run(t.Context(), t, s.worker(t, nil, nil))
	s.enqueue(t, 0, "s.0", "s.1")
	s.enqueue(t, 0, "other.0")
	s.ended(t, "other.0")
	if err := s.CancelSweep(t.Context(), "s", 0); err != nil {
		t.Fatal(err)
	}
	for id, state := range s.ended(t, "s.0", "s.1") {
		if reason := state.End().GetReason(); reason != busv1.EndReason_END_REASON_CANCELLED {
			t.Errorf("%s: ended as %v, want cancelled", id, reason)
		}
	}
	if n := a.totalOf("s"); n > 0 {
		t.Errorf("turns of the paused sweep: got %d, want none", n)
	}
}

// TestSpendLimitChangesInFlight raises the limit of a sweep while its rollout is played: the next
// turn has the new one.
func TestSpendLimitChangesInFlight(t *testing.T) {
	s := newStage(t)
	limit := func(tokens int64) {
		t.Helper()
		if err := s.UpdateControl(t.Context(), "s", func(c *busv1.SweepControl) bool {
			c.SpendLimit = &agentgwv1.SpendLimit{Tokens: tokens}
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit(5)
	var w *Worker
	var mu sync.Mutex
	var limits []int64
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		mu.Lock()
		limits = append(limits, req.GetSpendLimit().GetTokens())
		first := len(limits) == 1
		mu.Unlock()
		if first {
			limit(9)
			until(t, "the worker has received the limit", func() bool { return w.control("s").GetSpendLimit().GetTokens() == 9 })
		}
		return nil, nil
	}
	w = s.worker(t, nil, nil)
	run(t.Context(), t, w)
	s.enqueue(t, 0, "s.0")
	s.ended(t, "s.0")
	mu.Lock()
	defer mu.Unlock()
	if len(limits) < 2 || limits[1] != 9 {
		t.Errorf("limits of the turns: got %v, want 9 from the second on", limits)
	}
}
