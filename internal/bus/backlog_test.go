package bus_test

import (
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestWaiting takes jobs from two queues. A job counts until an orchestrator has taken it.
func TestWaiting(t *testing.T) {
	b := natstest.Open(t, natstest.Connect(t, t.TempDir()), bus.DefaultConfig())
	waiting := func(when string, want bool) time.Time {
		t.Helper()
		since, err := b.Waiting(t.Context(), func(string) bool { return false })
		if err != nil || since.IsZero() == want {
			t.Errorf("Waiting %s: got %v, %v, want a time %v, nil", when, since, err, want)
		}
		return since
	}
	enqueue := func(ids ...string) {
		t.Helper()
		for _, id := range ids {
			if err := b.Enqueue(t.Context(), []*busv1.Job{job(id)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	take := func(sweepID string) {
		t.Helper()
		queue, err := b.OpenQueue(t.Context(), sweepID, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if deliveries, err := queue.Fetch(t.Context(), 1, time.Minute); err != nil || len(deliveries) != 1 {
			t.Fatalf("Fetch from %s: got %d jobs and %v, want 1 and nil", sweepID, len(deliveries), err)
		}
	}
	waiting("without jobs", false)
	enqueue("a.0", "b.0", "a.1")
	first := waiting("before anybody looks", true)
	take("a")
	take("b")
	if second := waiting("for a.1", true); !second.After(first) {
		t.Errorf("Waiting for a.1: got %v, want later than a.0, %v", second, first)
	}
	take("a")
	waiting("when all are taken", false)
}

// TestRooms stores a job in streams with a limit and without one.
func TestRooms(t *testing.T) {
	for _, bytes := range []int64{0, 1 << 30} {
		cfg := bus.DefaultConfig()
		cfg.Bytes = bytes
		b := natstest.Open(t, natstest.Connect(t, t.TempDir()), cfg)
		if err := b.Enqueue(t.Context(), []*busv1.Job{job("a.0")}); err != nil {
			t.Fatal(err)
		}
		rooms, err := b.Rooms(t.Context())
		if err != nil || len(rooms) != 7+2*cfg.Shards {
			t.Fatalf("Rooms: got %d streams and %v, want %d and nil", len(rooms), err, 7+2*cfg.Shards)
		}
		for _, room := range rooms {
			if (room.Limit > 0) != (bytes > 0) || (room.Bytes > 0) != (room.Stream == "JOBS") {
				t.Errorf("room of %s with %d bytes in all: got %d of %d, want bytes in JOBS alone and a limit only if there is one", room.Stream, bytes, room.Bytes, room.Limit)
			}
		}
		room, err := b.Room(t.Context())
		if err != nil || room.Stream != "EVALUATION" {
			t.Errorf("Room of evaluations: got %v, %v, want that of EVALUATION", room, err)
		}
	}
}
