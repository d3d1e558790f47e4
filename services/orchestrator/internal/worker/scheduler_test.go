package worker

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// board is a worker's slots with the sweeps whose rollouts got one, in order.
type board struct {
	*scheduler
	begun []string
}

func newBoard(n, ahead int) *board {
	b := &board{scheduler: newScheduler(n, ahead)}
	b.play = func(delivery *bus.Delivery) { b.begun = append(b.begun, delivery.Rollout.GetSweepId()) }
	return b
}

// line lines up jobs of a sweep that were queued with a limit.
func (b *board) line(sweepID string, n, limit int) {
	b.offer(sweepID, slices.Repeat([]*bus.Delivery{{Rollout: &busv1.Rollout{SweepId: sweepID}, Parallel: limit}}, n))
}

// TestSlotsKeepLimits tells a worker numbers of a sweep, before, while and after its rollouts play.
func TestSlotsKeepLimits(t *testing.T) {
	board := newBoard(100, 16)
	check := func(what string, wantA, wantB int) {
		t.Helper()
		text := strings.Join(board.begun, "")
		if gotA, gotB := strings.Count(text, "a"), strings.Count(text, "b"); gotA != wantA || gotB != wantB {
			t.Errorf("%s: got %d of a and %d of b that began, want %d and %d", what, gotA, gotB, wantA, wantB)
		}
	}
	board.line("a", 6, 2)
	board.line("b", 6, 0)
	check("as they were queued", 2, 6)
	board.control("a", sweepControl{limit: 3})
	check("more", 3, 6)
	board.line("a", 1, 6)
	check("with another one that was queued with more", 3, 6)
	board.control("a", sweepControl{limit: 1})
	board.done("a")
	board.done("a")
	check("less, while one still plays", 3, 6)
	board.done("a")
	check("less, when none plays any more", 4, 6)
	board.control("b", sweepControl{limit: 1}) // of which six play
	board.line("b", 1, 0)
	for range 5 {
		board.done("b")
	}
	check("a limit for a sweep that had none", 4, 6)
	board.done("b")
	check("a limit for a sweep that had none, when all are done", 4, 7)
	board.control("a", sweepControl{limit: 0})
	check("no limit any more", 7, 7)
	board.line("once", 1, 1)
	board.done("once")
	if board.sweeps["once"] != nil {
		t.Errorf("a sweep that is done: got %+v, want it forgotten", board.sweeps["once"])
	}
}

// TestSlotsAreShared lets sweeps join one that has all slots: each free slot goes to the one that
// has the fewest.
func TestSlotsAreShared(t *testing.T) {
	board := newBoard(4, 16)
	check := func(what, want string) {
		t.Helper()
		if diff := cmp.Diff(want, strings.Join(board.begun, " ")); diff != "" {
			t.Errorf("%s: begun (-want +got):\n%s", what, diff)
		}
		board.begun = nil
	}
	board.line("a", 50, 0)
	check("alone", "a a a a")
	board.line("b", 50, 0)
	check("no slot is free", "")
	for range 2 {
		board.done("a")
	}
	check("two slots are free", "b b")
	for range 3 {
		board.done("a")
		board.done("b")
	}
	check("each has its half", "a b a b a b")
	board.line("c", 1, 0)
	board.done("a")
	check("a sweep of one rollout", "c")
	board.done("c")
	check("it is over", "a")
	board.line("d", 50, 1)
	board.done("b")
	board.done("b")
	board.done("a")
	board.done("a")
	check("a sweep that plays one at a time", "d b a b")
}

func TestSlotsHaveRoom(t *testing.T) {
	board := newBoard(2, 16)
	check := func(what, sweepID string, want int) (heard int) {
		t.Helper()
		got, heard, ok := board.capacity(t.Context(), sweepID)
		if got != want || !ok {
			t.Errorf("%s: got room for %d, %v, want %d", what, got, ok, want)
		}
		return heard
	}
	if !board.attach("a") || board.attach("a") {
		t.Error("jobs of a are to be fetched twice, or never")
	}
	check("one sweep", "a", 16)
	board.line("a", 7, 0) // of which two play
	check("some wait", "a", 11)
	board.attach("b")
	before := check("two sweeps", "b", 8)
	check("two sweeps, some wait", "a", 3)
	board.control("b", sweepControl{limit: 1})
	check("a limit", "b", 1)
	board.attach("b")
	if board.detach("b", before) {
		t.Error("jobs were queued since the sweep was found empty: nobody would fetch them")
	}
	if !board.detach("b", check("again", "b", 1)) || board.sweeps["b"] != nil {
		t.Error("a sweep that is over is kept")
	}
	board.line("a", 11, 0)
	full, cancel := context.WithCancel(t.Context())
	cancel()
	if n, _, ok := board.capacity(full, "a"); ok {
		t.Errorf("no room and no time: got room for %d, want none", n)
	}
	board.done("a")
	check("one begins", "a", 1)
}
