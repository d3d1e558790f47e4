package worker

import (
	"context"
	"strings"
	"sync"
	"testing"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// crowd is a sweep's rollouts that want to play, in order.
type crowd []<-chan struct{}

// on returns how many of them may.
func (c crowd) on() (n int) {
	for _, turn := range c {
		select {
		case <-turn:
			n++
		default:
		}
	}
	return n
}

// TestLimits tells a worker numbers of a sweep, before, while and after its rollouts play.
func TestLimits(t *testing.T) {
	var l limits
	var a, b crowd
	check := func(what string, wantA, wantB int) {
		t.Helper()
		if gotA, gotB := a.on(), b.on(); gotA != wantA || gotB != wantB {
			t.Errorf("%s: got %d of a and %d of b that began, want %d and %d", what, gotA, gotB, wantA, wantB)
		}
	}
	for range 6 {
		a, b = append(a, l.join("a", 2)), append(b, l.join("b", 0))
	}
	check("as they were queued", 2, 6)
	l.tell("a", 3)
	check("more", 3, 6)
	a = append(a, l.join("a", 6))
	check("with another one that was queued with more", 3, 6)
	l.tell("a", 1)
	l.surrender("a")
	l.surrender("a")
	check("less, while one still plays", 3, 6)
	l.surrender("a")
	check("less, when none plays any more", 4, 6)
	l.tell("b", 1) // of which six play
	b = append(b, l.join("b", 0))
	for range 5 {
		l.surrender("b")
	}
	check("a limit for a sweep that had none", 4, 6)
	l.surrender("b")
	check("a limit for a sweep that had none, when all are done", 4, 7)
	l.tell("a", 0)
	check("no limit any more", 7, 7)
	l.join("once", 1)
	l.surrender("once")
	if l.sweeps["once"] != nil {
		t.Errorf("a sweep that was never limited and is done: got %+v, want it forgotten", l.sweeps["once"])
	}
}

// doors lets the first turn of each rollout wait until the test opens it.
type doors struct {
	mu    sync.Mutex
	doors map[string]chan struct{}
	begun []string
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
	d.mu.Unlock()
	select {
	case <-door:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inside returns the rollouts that have begun, of a sweep.
func (d *doors) inside(sweep string) (ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range d.begun {
		if strings.HasPrefix(id, sweep+".") {
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

// TestParallelChanges lets a sweep go on with other numbers while a worker runs and all its jobs wait in the queue with the first one. Another sweep,
// of another command line, keeps its own.
func TestParallelChanges(t *testing.T) {
	s := newStage(t)
	d := &doors{}
	s.gateway.respond = d.respond
	set := func(parallel, round int32) {
		t.Helper()
		if err := s.SetParallel(t.Context(), "a", parallel, round); err != nil {
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
		w.limits.mu.Lock()
		defer w.limits.mu.Unlock()
		return w.limits.sweeps["a"].limit == 2
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
