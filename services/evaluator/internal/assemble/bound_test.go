package assemble_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
)

// redeliver delivers all events from the beginning to an assembler that knows the rollouts with
// results.
func redeliver(t *testing.T, random *rand.Rand, all []*recording, scored map[string]*assemble.Trajectory, stopAfter int) {
	t.Helper()
	done := make(map[string]int32)
	for id := range scored {
		done[id] = 0
	}
	a := assemble.New(done)
	owner := make(map[event]*recording)
	lists := make([][]event, len(all))
	for i, r := range all {
		for _, e := range append(r.log, r.snapshots...) {
			owner[e] = r
		}
		lists[i] = r.deliveries(random)
	}
	for n, e := range merge(random, lists...) {
		if n == stopAfter {
			return
		}
		r := owner[e]
		trajectory := deliver(t, a, r, e)
		if trajectory == nil {
			continue
		}
		if scored[r.id] != nil {
			t.Errorf("%s: got its trajectory again after its score, want none", r.id)
		}
		// Sometimes the process ends between the trajectory and its score.
		if random.IntN(3) > 0 {
			scored[r.id] = trajectory
			a.Done(r.id, 0)
		}
	}
}

func TestRestartsAtAnyPointLoseNothing(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 2))
		var all []*recording
		for n := range 4 {
			all = append(all, record(random, fmt.Sprintf("s.%d", n)))
		}
		scored := make(map[string]*assemble.Trajectory)
		for range 3 {
			redeliver(t, random, all, scored, random.IntN(60))
		}
		for tries := 0; len(scored) < len(all) && tries < 50; tries++ {
			redeliver(t, random, all, scored, -1)
		}
		for _, r := range all {
			if d := diff(r.want, scored[r.id]); d != "" {
				t.Errorf("seed %d: %s (-want +got):\n%s", seed, r.id, d)
			}
		}
	}
}

func TestTooLargeRolloutsAreDropped(t *testing.T) {
	start := &busv1.LogEntry{Start: &busv1.Start{Rollout: &busv1.Rollout{Id: "s.0"}, Messages: []*worldv1.Message{{}}}}
	end := &busv1.LogEntry{End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}}
	rows := make([]*worldv1.Row, assemble.MaxRows/4)
	versions := func(a *assemble.Assembler) error {
		for index := range int32(5) {
			a.AddSnapshot(&busv1.Snapshot{SessionId: "s.0", Tables: []*worldv1.Table{
				{Name: world.Contact, Index: index + 1, Rows: rows},
			}})
		}
		return nil
	}
	nothing := func(*assemble.Assembler) error { return nil }
	for name, test := range map[string]struct {
		early, feed func(a *assemble.Assembler) error
		want        string
	}{
		"messages": {nothing, func(a *assemble.Assembler) error {
			turn := &busv1.LogEntry{Turns: []*busv1.Turn{{Messages: make([]*worldv1.Message, assemble.MaxMessages)}}}
			_, err := a.AddEntry("s.0", 2, chain(start, turn, end)[1])
			return err
		}, "more than 20000 messages"},
		"rows":                  {nothing, versions, "more than 262144 rows"},
		"rows before the start": {versions, nothing, "more than 262144 rows"},
	} {
		t.Run(name, func(t *testing.T) {
			a := assemble.New(map[string]int32{})
			chain(start, end)
			if err := test.early(a); err != nil {
				t.Fatal(err)
			}
			if _, err := a.AddEntry("s.0", 1, start); err != nil {
				t.Fatal(err)
			}
			if err := test.feed(a); err != nil {
				t.Fatal(err)
			}
			if got := a.Partial("s.0"); got != nil {
				t.Errorf("Partial: got %d messages, want nil", len(got.Messages))
			}
			got, err := a.AddEntry("s.0", 3, end)
			if err != nil || got == nil {
				t.Fatalf("Log of the end: got %v, %v, want a trajectory", got, err)
			}
			if len(got.Messages)+len(got.Tables) > 0 || got.End.GetReason() != busv1.EndReason_END_REASON_INFRASTRUCTURE ||
				!strings.Contains(got.End.GetDetail(), test.want) {
				t.Errorf("trajectory: got %d messages, %d tables and %v, want none and %q", len(got.Messages), len(got.Tables), got.End, test.want)
			}
		})
	}
}
