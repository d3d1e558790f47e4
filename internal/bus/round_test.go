package bus_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

func TestRounds(t *testing.T) {
	b := natstest.Start(t)
	ctx := t.Context()
	begin := func(number int32, rollouts ...int) {
		t.Helper()
		rounds, err := b.Rounds(ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.BeginRound(ctx, "s", rounds, number, rollouts); err != nil {
			t.Fatal(err)
		}
	}
	begin(10, 9)
	before, err := b.Rounds(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	begin(2, 0, 8, 9)
	for _, number := range []int32{2, 4} { // the one that has begun since, and another one
		if err := b.BeginRound(ctx, "s", before, number, []int{1}); !errors.Is(err, bus.ErrFenced) {
			t.Errorf("round %d after round 2: got %v, want %v", number, err, bus.ErrFenced)
		}
	}
	if err := b.BeginRound(ctx, "s2", bus.Rounds{}, 7, []int{1}); err != nil {
		t.Error(err)
	}
	begin(3)
	rounds, err := b.Rounds(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	var of []int32
	for n := range 20 {
		of = append(of, rounds.Of(n))
	}
	if diff := cmp.Diff([]int32{2, 0, 0, 0, 0, 0, 0, 0, 2, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, of); diff != "" {
		t.Errorf("rounds (-want +got):\n%s", diff)
	}
	if got := rounds.OfID("s.8"); got != 2 {
		t.Errorf("round of s.8: got %d, want 2", got)
	}
	if got := rounds.Last(); got != 10 {
		t.Errorf("last: got %d, want 10", got)
	}
	for number, want := range map[int32]bool{0: true, 1: false, 2: true, 3: true, 4: false, 10: true} {
		if got := rounds.HasStarted(number); got != want {
			t.Errorf("round %d has begun: got %v, want %v", number, got, want)
		}
	}
	none, err := b.Rounds(ctx, "other")
	if err != nil || none.Last() != 0 || none.Of(0) != 0 {
		t.Errorf("rounds of a sweep without any: got %v and %v, want round 0 for all", none, err)
	}
	if ids, err := b.SweepIDs(ctx); err != nil || len(ids) != 0 {
		t.Errorf("sweeps: got %v and %v, want none: rounds are no plans", ids, err)
	}
}

// TestRoundResults stores a result in each of two rounds. Result returns that of the last round.
func TestRoundResults(t *testing.T) {
	b := natstest.Start(t)
	ctx := t.Context()
	publish := func(id string, round int32, reason busv1.EndReason) bool {
		t.Helper()
		created, err := b.PublishResult(ctx, &busv1.Result{Rollout: &busv1.Rollout{Id: id}, Round: round, End: &busv1.End{Reason: reason}})
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	const failed, finished = busv1.EndReason_END_REASON_INFRASTRUCTURE, busv1.EndReason_END_REASON_FINISHED
	publish("s.1", 0, failed)
	publish("s.2", 0, finished)
	publish("s2.1", 0, finished)
	if err := b.BeginRound(ctx, "s", bus.Rounds{}, 1, []int{1}); err != nil {
		t.Fatal(err)
	}
	if publish("s.1", 0, finished) {
		t.Error("a second result of round 0: got created, want refused")
	}
	if got, err := b.Result(ctx, "s.1"); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("result before round 1 has one: got %v and %v, want %v", got, err, bus.ErrNotFound)
	}
	if !publish("s.1", 1, finished) || publish("s.1", 1, failed) {
		t.Error("results of round 1: want the first one created only")
	}
	for id, round := range map[string]int32{"s.1": 1, "s.2": 0} {
		got, err := b.Result(ctx, id)
		if err != nil || got.GetRound() != round || got.GetEnd().GetReason() != finished {
			t.Errorf("result of %s: got %v and %v, want that of round %d", id, got, err, round)
		}
	}
	ids, all := make(map[string]bool), make(map[string]bool)
	if err := b.ResultIDs(ctx, "s", func(id string, round int32) { ids[fmt.Sprint(id, " ", round)] = true }); err != nil {
		t.Fatal(err)
	}
	if err := b.VisitResults(ctx, "s", func(r *busv1.Result) { all[fmt.Sprint(r.GetRollout().GetId(), " ", r.GetRound())] = true }); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"s.1 0": true, "s.1 1": true, "s.2 0": true}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if err := b.VisitResults(ctx, "none", func(*busv1.Result) { t.Error("a result of no sweep") }); err != nil {
		t.Errorf("results of no sweep: got %v, want nil", err)
	}
}
