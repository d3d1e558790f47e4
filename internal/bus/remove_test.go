package bus_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// storeSweep stores one message of each kind for a sweep with one rollout.
func storeSweep(t *testing.T, b *bus.Bus, id string) {
	t.Helper()
	rollout := &busv1.Rollout{Id: id + ".0", SweepId: id}
	_, appendErr := b.Append(t.Context(), rollout.GetId(), &busv1.LogEntry{Start: &busv1.Start{Rollout: rollout}}, bus.Position{})
	_, resultErr := b.PublishResult(t.Context(), &busv1.Result{Rollout: rollout, Round: 1})
	err := errors.Join(
		b.PutSweep(t.Context(), &busv1.Sweep{Id: id}), b.UpdateControl(t.Context(), id, bus.Creation{Team: "red", Rollouts: 7, Parallel: 3}.Apply), b.Enqueue(t.Context(), []*busv1.Job{{Rollout: rollout}}),
		appendErr, resultErr, b.PublishSnapshot(t.Context(), &busv1.Snapshot{SessionId: rollout.GetId()}),
		b.PutTurn(t.Context(), rollout.GetId(), 1, []byte("turn")), b.PutAnswer(t.Context(), rollout.GetId(), 1, []byte("answer")),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// TestRemoveSweep removes a sweep twice. Only its reserved id stays, and another sweep whose name
// begins with its name stays whole.
func TestRemoveSweep(t *testing.T) {
	conn := natstest.Connect(t, t.TempDir())
	cfg := bus.DefaultConfig()
	cfg.Shards = 2
	b := natstest.Open(t, conn, cfg)
	storeSweep(t, b, "s")
	storeSweep(t, b, "s2")
	messages := func() (n uint64) {
		t.Helper()
		js, err := jetstream.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		streams := js.ListStreams(t.Context())
		for info := range streams.Info() {
			n += info.State.Msgs
		}
		if err := streams.Err(); err != nil {
			t.Fatal(err)
		}
		return n
	}
	both := messages()
	for range 2 {
		deleted, err := b.BeginDeletion(t.Context(), "s", func(*busv1.SweepControl) bool { return true })
		err = errors.Join(err, b.RemoveSweepData(t.Context(), "s"), b.RemovePlan(t.Context(), "s"))
		if err != nil {
			t.Fatal(err)
		}
		if !deleted {
			t.Error("deletion: got not begun, want begun")
		}
		if got, want := messages(), both/2+1; got != want {
			t.Errorf("messages after the removal of one of two sweeps: got %d of %d, want %d", got, both, want)
		}
	}
	if control := controlOf(t, b); !proto.Equal(control, &busv1.SweepControl{Deleted: true, Team: "red", Rollouts: 7}) {
		t.Errorf("control: got %v, want only that it was deleted, and its team", control)
	}
	if err := b.UpdateControl(t.Context(), "s", bus.Creation{Parallel: 3, Round: 9}.Apply); !errors.Is(err, bus.ErrDeleted) {
		t.Errorf("Configure: got %v, want %v", err, bus.ErrDeleted)
	}
	rollouts := make(map[string]int64)
	err := b.VisitControls(t.Context(), func(id string, control *busv1.SweepControl) { rollouts[id] = control.GetRollouts() })
	if err != nil || len(rollouts) != 2 || rollouts["s"] != 7 {
		t.Errorf("VisitControls: got %v and %v, want both sweeps, the deleted one with 7 rollouts", rollouts, err)
	}
	if _, err := b.Sweep(t.Context(), "s"); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("plan: got %v, want %v", err, bus.ErrNotFound)
	}
}

// TestSpendingAfter reads the spending of a sweep in parts, between which turns are replaced: one
// that was read before, and one that was not.
func TestSpendingAfter(t *testing.T) {
	b := natstest.Start(t)
	cost := func(n int64) bus.Cost { return bus.Cost{Tokens: n, Micros: 10 * n} }
	record := func(index int32, revision uint64, spent, added int64) uint64 {
		t.Helper()
		if err := b.RecordTurn(t.Context(), bus.TurnRecord{
			RolloutID: "s.0", Index: index, Raw: []byte{byte(spent)}, Revision: revision, Cost: cost(spent), Added: cost(added), Recorder: "g",
		}); err != nil {
			t.Fatal(err)
		}
		_, at, err := b.Turn(t.Context(), "s.0", index)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	revision := record(1, 0, 5, 5)
	total, read, err := b.Spending(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		records func()
		want    int64
	}{
		{func() { record(1, revision, 7, 2); record(3, 0, 4, 4) }, 11},
		{func() {}, 11},
		{func() { record(7, record(7, 0, 3, 3), 8, 5); record(5, 0, 1, 1) }, 20},
		{func() { record(9, 0, 2, 2) }, 22},
	} {
		step.records()
		if total, read, err = b.SpendingAfter(t.Context(), "s", total, read); err != nil || total != cost(step.want) {
			t.Fatalf("spending: got %v and %v, want %v", total, err, cost(step.want))
		}
	}
}
