package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// withForeigner returns a bus and a function that publishes on its streams as somebody else does.
func withForeigner(t *testing.T) (b *bus.Bus, publish func(subject string, data []byte)) {
	t.Helper()
	conn := natstest.Connect(t, t.TempDir())
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return natstest.Open(t, conn, natstest.OneShard), func(subject string, data []byte) {
		t.Helper()
		if _, err := js.Publish(t.Context(), subject, data); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForeignSweepDocuments publishes documents of nobody behind those of a sweep, which still
// hold, until they are removed by name. A watch of the sweep ends with the first that comes to it.
func TestForeignSweepDocuments(t *testing.T) {
	b, publish := withForeigner(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want := func(parallel int32) {
		t.Helper()
		control, err := b.Control(ctx, "s")
		if err != nil || control.GetParallel() != parallel {
			t.Errorf("Control: got %v and %v, want %d rollouts", control, err, parallel)
		}
		if sweep, err := b.Sweep(ctx, "s"); err != nil || sweep.GetTrials() != 3 {
			t.Errorf("Sweep: got %v and %v, want three trials", sweep, err)
		}
	}
	if err := errors.Join(b.PutSweep(ctx, &busv1.Sweep{Id: "s", Trials: 3}), b.UpdateControl(ctx, "s", bus.Creation{Parallel: 2}.Apply)); err != nil {
		t.Fatal(err)
	}
	var watched []int32
	err := b.WatchControl(ctx, "s", func(_ string, control *busv1.SweepControl) {
		watched = append(watched, control.GetParallel())
		publish("sweep.s.control", nil)
	})
	if !errors.Is(err, bus.ErrForeign) || !strings.Contains(err.Error(), "stream SWEEP, sequence 3, subject sweep.s.control: it has no seal") || len(watched) != 1 {
		t.Errorf("WatchControl: got %v and %v, want one state and the foreign document", watched, err)
	}
	publish("sweep.s.plan", []byte("\xff"))
	publish("sweep.s.x.y", []byte("hello"))
	publish("sweep.other.plan", []byte("\xff"))
	want(2)
	if err := b.UpdateControl(ctx, "s", bus.Creation{Parallel: 4, Round: 1}.Apply); err != nil {
		t.Fatal(err)
	}
	publish("sweep.s.control", []byte("\x08\x07"))
	want(4)
	watching, stop := context.WithCancel(ctx)
	err = b.WatchControl(watching, "", func(_ string, control *busv1.SweepControl) {
		watched = append(watched, control.GetParallel())
		stop()
	})
	if err != nil || watched[len(watched)-1] != 4 {
		t.Errorf("WatchControl of all sweeps: got %v and %v, want the newest state of ours", watched, err)
	}
	removed, err := b.RemoveForeign(ctx, "s")
	if err != nil || len(removed) != 4 {
		t.Errorf("RemoveForeign: got %v and %v, want four documents", removed, err)
	}
	if removed, err = b.RemoveForeign(ctx, "s"); err != nil || len(removed) != 0 {
		t.Errorf("RemoveForeign again: got %v and %v, want none", removed, err)
	}
	want(4)
	if _, err := b.Sweep(ctx, "other"); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("Sweep with a foreign plan: got %v, want %v", err, bus.ErrNotFound)
	}
	if err := b.PutSweep(ctx, &busv1.Sweep{Id: "other"}); err != nil {
		t.Errorf("PutSweep in the place of a foreign plan: got %v, want nil", err)
	}
}

// TestForeignResult stores a result in the place of one that is none, and of another rollout's.
func TestForeignResult(t *testing.T) {
	b, publish := withForeigner(t)
	for _, foreign := range [][]byte{[]byte("\xff"), nil} {
		publish("result.s.0", foreign)
		if _, err := b.RoundResult(t.Context(), "s.0", 0); !errors.Is(err, bus.ErrNotFound) {
			t.Errorf("RoundResult: got %v, want %v", err, bus.ErrNotFound)
		}
		if err := b.VisitResults(t.Context(), "s", func(r *busv1.Result) { t.Errorf("a foreign result: %v", r) }); err != nil {
			t.Fatal(err)
		}
	}
	result := &busv1.Result{Rollout: &busv1.Rollout{Id: "s.0"}, Similarity: 0.5}
	if created, err := b.PublishResult(t.Context(), result); !created || err != nil {
		t.Errorf("PublishResult: got %v and %v, want a new result", created, err)
	}
	if got, err := b.RoundResult(t.Context(), "s.0", 0); err != nil || got.GetSimilarity() != 0.5 {
		t.Errorf("RoundResult: got %v and %v, want the result", got, err)
	}
}

// TestForeignJobs fetches the jobs among messages that are none, which leave the queue by name.
func TestForeignJobs(t *testing.T) {
	b, publish := withForeigner(t)
	publish("jobs.s.0", []byte("\xff"))
	publish("jobs.s.x", nil)
	if err := b.Enqueue(t.Context(), []*busv1.Job{job("s.0"), job("s.1")}); err != nil {
		t.Fatal(err)
	}
	publish("jobs.s.2", nil)
	queue, err := b.OpenQueue(t.Context(), "s", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := queue.Fetch(t.Context(), 10, time.Minute)
	if len(jobs) != 2 || !errors.Is(err, bus.ErrForeign) || !strings.Contains(err.Error(), "subject jobs.s.x") || !strings.Contains(err.Error(), "subject jobs.s.2") {
		t.Errorf("Fetch: got %d jobs and %v, want two and the names of two others", len(jobs), err)
	}
	for _, fetched := range jobs {
		if err := fetched.DoubleAck(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if more, err := b.HasJobs(t.Context(), "s"); more || err != nil {
		t.Errorf("HasJobs: got %v and %v, want none", more, err)
	}
}

// TestForeignTurns reads and replaces a recorded turn behind which somebody else publishes.
func TestForeignTurns(t *testing.T) {
	b, publish := withForeigner(t)
	record := func(text string, revision uint64) {
		t.Helper()
		if err := b.RecordTurn(t.Context(), bus.TurnRecord{RolloutID: "s.0", Index: 2, Raw: []byte(text), Revision: revision}); err != nil {
			t.Fatal(err)
		}
	}
	publish("turn.s.0.2", []byte("foreign"))
	publish("turn.s.0.x", []byte("foreign"))
	revision := uint64(0)
	for _, text := range []string{"first", "second"} {
		record(text, revision)
		publish("turn.s.0.2", []byte("foreign"))
		raw, at, err := b.Turn(t.Context(), "s.0", 2)
		if err != nil || string(raw) != text {
			t.Errorf("Turn: got %q and %v, want %q", raw, err, text)
		}
		revision = at
	}
	visited := 0
	err := b.Turns(t.Context(), "s.0", func(index int32, raw []byte) error {
		if visited++; index != 2 || string(raw) != "second" {
			t.Errorf("turn %d: got %q, want turn 2, second", index, raw)
		}
		return nil
	})
	if err != nil || visited != 1 {
		t.Errorf("Turns: got %d and %v, want one", visited, err)
	}
}

// TestHugeForeignMessage follows results behind a message that is larger than all that a follower
// asks for at a time.
func TestHugeForeignMessage(t *testing.T) {
	conn := natstest.ConnectPayload(t, t.TempDir(), 32<<20)
	b := natstest.Open(t, conn, natstest.OneShard)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := js.Publish(ctx, "result.s.0", make([]byte, 20<<20)); err != nil { // without a deadline it has 5 s
		t.Fatal(err)
	}
	if _, err := b.PublishResult(t.Context(), &busv1.Result{Rollout: &busv1.Rollout{Id: "s.1"}}); err != nil {
		t.Fatal(err)
	}
	found := errors.New("found")
	err = b.FollowResults(ctx, "", func(*busv1.Result) error { return found })
	if !errors.Is(err, found) {
		t.Errorf("FollowResults: got %v, want the result", err)
	}
}
