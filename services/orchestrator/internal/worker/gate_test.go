package worker

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// doors lets the first turn of each rollout wait until the test opens it.
type doors struct {
	mu    sync.Mutex
	doors map[string]chan struct{}
	begun []string
	free  bool // no further one waits
}

func (d *doors) respond(ctx context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	if req.GetRole() != agent || req.GetTurn() > 0 {
		return nil, nil
	}
	d.mu.Lock()
	d.begun = append(d.begun, req.GetRolloutId())
	door := make(chan struct{})
	if d.doors == nil {
		d.doors = make(map[string]chan struct{})
	}
	d.doors[req.GetRolloutId()] = door
	if d.free {
		close(door)
	}
	d.mu.Unlock()
	select {
	case <-door:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inside returns the rollouts that have begun, of a sweep or, without one, of all.
func (d *doors) inside(sweep string) (ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range d.begun {
		if sweep == "" || strings.HasPrefix(id, sweep+".") {
			ids = append(ids, id)
		}
	}
	return ids
}

func (d *doors) open(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.doors[id])
}

// openAll lets all go on, and whoever comes later.
func (d *doors) openAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = true
	for _, door := range d.doors {
		select {
		case <-door:
		default:
			close(door)
		}
	}
}

// TestParallelChanges lets a sweep go on with other numbers while a worker runs and all its jobs
// wait in the queue with the first one. Another sweep, of another command line, keeps its own.
func TestParallelChanges(t *testing.T) {
	s := newStage(t)
	d := &doors{}
	s.gateway.respond = d.respond
	set := func(parallel, round int32) {
		t.Helper()
		if err := s.UpdateControl(t.Context(), "a", bus.Creation{Parallel: parallel, Round: round}.Apply); err != nil {
			t.Fatal(err)
		}
	}
	set(1, 0)
	s.enqueue(t, 1, "a.0", "a.1", "a.2", "a.3", "a.4")
	s.enqueue(t, 1, "b.0", "b.1")
	w := s.worker(t, func(cfg *Config) { cfg.Parallel = 16 }, nil)
	run(t.Context(), t, w)
	playing := func(a, b int) {
		t.Helper()
		until(t, "so many have begun", func() bool { return len(d.inside("a")) >= a && len(d.inside("b")) >= b })
		if gotA, gotB := d.inside("a"), d.inside("b"); len(gotA) != a || len(gotB) != b {
			t.Errorf("begun: got %v and %v, want %d and %d", gotA, gotB, a, b)
		}
	}
	playing(1, 1)
	set(3, 1)
	playing(3, 1)
	set(9, 0) // of a command line that creates the first part of the run again
	set(2, 2)
	until(t, "the worker knows", func() bool {
		w.scheduler.mu.Lock()
		defer w.scheduler.mu.Unlock()
		return w.scheduler.controls["a"].limit == 2
	})
	playing(3, 1)
	first := d.inside("a")
	d.open(first[0])
	s.ended(t, first[0])
	d.open(first[1])
	s.ended(t, first[1])
	playing(4, 1)
	for _, id := range append(d.inside("a")[2:], d.inside("b")...) {
		d.open(id)
	}
	playing(5, 2)
	d.open(d.inside("a")[4])
	d.open(d.inside("b")[1])
	s.ended(t, "a.0", "a.1", "a.2", "a.3", "a.4", "b.0", "b.1")
}
