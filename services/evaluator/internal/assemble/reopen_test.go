package assemble_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
)

// TestReopenDuringRestore reopens a rollout. While its log and snapshots are read from the bus, a
// snapshot arrives that this read misses, and the previous round's result is stored late. Neither
// may lose state.
func TestReopenDuringRestore(t *testing.T) {
	const id = "s.0"
	versions := []*worldv1.TableVersion{version(world.Contact, 1)}
	log := chain([]*busv1.LogEntry{
		{Start: &busv1.Start{Rollout: &busv1.Rollout{Id: id}, Messages: []*worldv1.Message{{}}}, End: &busv1.End{Reason: busv1.EndReason_END_REASON_INFRASTRUCTURE}},
		{Claim: &busv1.Claim{Round: 1}},
		{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{{Index: 1}}, Versions: versions}}, End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}},
	}...)
	for _, known := range []string{"pending", "done"} {
		t.Run("round 0 is "+known, func(t *testing.T) {
			a := assemble.New(map[string]int32{})
			if first, err := a.AddEntry(id, 1, log[0]); first == nil || err != nil {
				t.Fatalf("the end of round 0: got %v and %v, want a trajectory", first, err)
			}
			if known == "done" {
				a.Done(id, 0)
			}
			if _, err := a.AddEntry(id, 2, log[1]); !errors.Is(err, assemble.ErrReopened) {
				t.Fatalf("a claim of round 1: got %v, want %v", err, assemble.ErrReopened)
			}
			a.AddSnapshot(&busv1.Snapshot{SessionId: id, Tables: []*worldv1.Table{table(world.Contact, 1)}})
			if known == "pending" {
				a.Done(id, 0)
			}
			read := &bus.Log{Entries: log[:2], End: bus.Position{Sequence: 2, Entries: 2, Digest: log[1].GetDigest()}}
			if _, err := a.Restore(id, read, nil); err != nil {
				t.Fatal(err)
			}
			got, err := a.AddEntry(id, 3, log[2])
			if err != nil || got == nil {
				t.Fatalf("the end of round 1: got %v and %v, want a trajectory", got, err)
			}
			if diff := cmp.Diff([]int{1, 2, 1}, []int{int(got.Round), len(got.Messages), len(got.Tables)}); diff != "" {
				t.Errorf("round, messages, tables (-want +got):\n%s", diff)
			}
		})
	}
}
