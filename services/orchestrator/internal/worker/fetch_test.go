package worker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// ids returns the ids of the first rollouts of a sweep.
func ids(sweepID string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s.%d", sweepID, i))
	}
	return ids
}

// TestLimitedSweepDoesNotStarveAnother queues one rollout behind many of a sweep that may play only
// one in each of two workers.
func TestLimitedSweepDoesNotStarveAnother(t *testing.T) {
	s, d := newStage(t), &doors{}
	s.gateway.respond = d.respond
	s.enqueue(t, 1, ids("a", 60)...)
	for range 2 {
		run(t.Context(), t, s.worker(t, nil, nil))
	}
	until(t, "each worker plays one of a", func() bool { return len(d.inside("a")) == 2 })
	s.enqueue(t, 0, "b.0")
	until(t, "b has begun", func() bool { return len(d.inside("b")) == 1 })
	if got := d.inside("a"); len(got) != 2 {
		t.Errorf("rollouts of a that have begun: got %v, want 2", got)
	}
}

// TestNextFreeSlot queues one rollout behind many of a sweep that has all slots.
func TestNextFreeSlot(t *testing.T) {
	s, d := newStage(t), &doors{}
	s.gateway.respond = d.respond
	s.enqueue(t, 0, ids("a", 60)...)
	w := s.worker(t, nil, nil)
	run(t.Context(), t, w)
	until(t, "the worker plays what it can", func() bool { return len(d.inside("a")) == 4 })
	s.enqueue(t, 0, "b.0")
	until(t, "the job waits for a slot", func() bool {
		w.scheduler.mu.Lock()
		defer w.scheduler.mu.Unlock()
		return w.scheduler.sweeps["b"] != nil && len(w.scheduler.sweeps["b"].waiting) == 1
	})
	d.open(d.inside("a")[0])
	until(t, "the next one has begun", func() bool { return len(d.inside("a"))+len(d.inside("b")) == 5 })
	if got := d.inside("b"); len(got) != 1 {
		t.Errorf("begun in the slot that became free: got %v, want b.0", d.inside("a")[4:])
	}
}

// TestWorkerWithSeveralSweepsDies stops or kills a worker that holds jobs of three sweeps: the next
// one plays them all.
func TestWorkerWithSeveralSweepsDies(t *testing.T) {
	for _, how := range []string{"stopped", "killed"} {
		t.Run(how, func(t *testing.T) {
			s, d := newStage(t), &doors{}
			s.gateway.respond, s.gateway.raced = d.respond, true
			all := append(append(ids("a", 5), ids("b", 5)...), ids("c", 5)...)
			s.enqueue(t, 2, all...)
			short := func(cfg *Config) { cfg.Lease = time.Second }
			if how == "stopped" {
				stop := run(t.Context(), t, s.worker(t, short, nil))
				until(t, "rollouts have begun", func() bool { return len(d.inside("")) == 4 })
				stop()
			} else {
				for _, sweepID := range []string{"a", "b", "c"} {
					queue, err := s.OpenQueue(t.Context(), sweepID, time.Second)
					if err != nil {
						t.Fatal(err)
					}
					if held, err := queue.Fetch(t.Context(), 3, patience); err != nil || len(held) != 3 {
						t.Fatalf("Fetch: got %d jobs and %v, want 3 and nil", len(held), err)
					}
				}
			}
			d.openAll()
			run(t.Context(), t, s.worker(t, short, nil))
			for id, state := range s.ended(t, all...) {
				if got := state.End().GetReason(); got != busv1.EndReason_END_REASON_FINISHED {
					t.Errorf("end of %s: got %v, want it finished", id, got)
				}
				s.score(t, id)
			}
			s.empty(t)
		})
	}
}

// TestCancelledSweepAmongOthers cancels a sweep that may play one rollout at once: all end, and the
// other sweep goes on.
func TestCancelledSweepAmongOthers(t *testing.T) {
	s, d := newStage(t), &doors{}
	s.gateway.respond = d.respond
	s.enqueue(t, 1, ids("a", 20)...)
	s.enqueue(t, 1, ids("b", 3)...)
	w := s.worker(t, nil, nil)
	run(t.Context(), t, w)
	until(t, "one of each has begun", func() bool { return len(d.inside("a")) == 1 && len(d.inside("b")) == 1 })
	if err := s.CancelSweep(t.Context(), "a", 0); err != nil {
		t.Fatal(err)
	}
	until(t, "the worker knows", func() bool { return bus.Cancelled(w.control("a"), 0) })
	d.openAll()
	for id, state := range s.ended(t, append(ids("a", 20), ids("b", 3)...)...) {
		want := busv1.EndReason_END_REASON_CANCELLED
		if id[0] == 'b' {
			want = busv1.EndReason_END_REASON_FINISHED
		}
		if got := state.End().GetReason(); got != want {
			t.Errorf("end of %s: got %v, want %v", id, got, want)
		}
	}
}

// TestSweepGoesOn queues a sweep's jobs, of the same round and of a later one, when the worker has
// forgotten the sweep.
func TestSweepGoesOn(t *testing.T) {
	s := newStage(t)
	w := s.worker(t, nil, nil)
	w.fetchWait, w.lookEvery = 20*time.Millisecond, time.Hour
	run(t.Context(), t, w)
	for i, id := range []string{"s.0", "s.1", "s.0"} {
		round := int32(i / 2)
		s.again(t, id, round)
		s.endedIn(t, id, round)
		s.decide(t, id)
		s.empty(t)
		until(t, "the sweep is forgotten", func() bool {
			w.scheduler.mu.Lock()
			defer w.scheduler.mu.Unlock()
			return len(w.scheduler.sweeps) == 0 && w.scheduler.fetching() == 0 && w.scheduler.free == 4
		})
	}
}

// TestUnannouncedJobs finds jobs whose announcements were lost.
func TestUnannouncedJobs(t *testing.T) {
	s := newStage(t)
	publish := func(id string) {
		t.Helper()
		raw, err := proto.Marshal(&busv1.Job{Rollout: s.rollout(id)})
		if err == nil {
			_, err = s.js.Publish(t.Context(), "jobs."+id, raw)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	publish("a.0")
	publish("a.1")
	publish("b.0")
	w := s.worker(t, nil, nil)
	w.lookEvery = 20 * time.Millisecond
	run(t.Context(), t, w)
	s.ended(t, "a.0", "a.1", "b.0")
	publish("c.0")
	publish("a.2")
	s.ended(t, "c.0", "a.2")
	for _, id := range []string{"a.0", "a.1", "a.2", "b.0", "c.0"} {
		s.score(t, id)
	}
	s.empty(t)
}

// TestClockWentBack holds two deliveries back for an hour, as a NATS server does whose clock has
// gone back by that time after their worker died. A worker plays them after their lease, and the
// third job, which it was playing meanwhile, to one end.
func TestClockWentBack(t *testing.T) {
	s, d := newStage(t), &doors{}
	s.gateway.respond, s.gateway.raced = d.respond, true
	s.enqueue(t, 0, ids("a", 3)...)
	const lease = time.Second
	for range 2 {
		if err := s.fetch(t, "a.0", lease).Nak(time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	w := s.worker(t, func(cfg *Config) { cfg.Lease = lease }, nil)
	w.fetchWait = 20 * time.Millisecond
	run(t.Context(), t, w)
	until(t, "all have begun", func() bool {
		begun := d.inside("a")
		return slices.Contains(begun, "a.0") && slices.Contains(begun, "a.1") && slices.Contains(begun, "a.2")
	})
	d.openAll()
	for id, state := range s.ended(t, ids("a", 3)...) {
		if got := state.End().GetReason(); got != busv1.EndReason_END_REASON_FINISHED {
			t.Errorf("end of %s: got %v, want it finished", id, got)
		}
		s.score(t, id)
	}
	s.empty(t)
}
