package bus_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

func job(id string) *busv1.Job { return &busv1.Job{Rollout: &busv1.Rollout{Id: id}} }

// shortenLease does what no process does: it shortens the lease of a sweep's open queue.
func shortenLease(t *testing.T, js jetstream.JetStream, sweepID string, lease time.Duration) {
	t.Helper()
	consumer, err := js.Consumer(t.Context(), "JOBS", "sweep-"+sweepID)
	if err != nil {
		t.Fatal(err)
	}
	cfg := consumer.CachedInfo().Config
	cfg.InactiveThreshold /= cfg.AckWait / lease
	cfg.AckWait = lease
	if _, err := js.UpdateConsumer(t.Context(), "JOBS", cfg); err != nil {
		t.Fatal(err)
	}
}

// TestQueuePerSweep fetches jobs of a sweep that were queued after another sweep's. The server
// removes unused consumers and keeps their jobs.
func TestQueuePerSweep(t *testing.T) {
	dir := t.TempDir()
	conn := natstest.Connect(t, dir)
	b := natstest.Open(t, conn, bus.DefaultConfig())
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := b.Enqueue(ctx, []*busv1.Job{job("a.0"), job("a.1"), job("b.0")}); err != nil {
		t.Fatal(err)
	}
	fetch := func(sweepID string, n, want int) []*bus.Delivery {
		t.Helper()
		queue, err := b.OpenQueue(ctx, sweepID, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		deliveries, err := queue.Fetch(ctx, n, time.Minute)
		if err != nil || len(deliveries) != want {
			t.Fatalf("Fetch from %s: got %d jobs and %v, want %d and nil", sweepID, len(deliveries), err, want)
		}
		return deliveries
	}
	fetch("a", 1, 1)
	done := fetch("b", 5, 1)[0]
	if got := done.Rollout.GetId(); got != "b.0" {
		t.Errorf("job of b: got %s, want b.0", got)
	}
	if err := done.DoubleAck(ctx); err != nil {
		t.Fatal(err)
	}
	for sweepID, want := range map[string]bool{"a": true, "b": false} {
		if got, err := b.HasJobs(ctx, sweepID); got != want || err != nil {
			t.Errorf("HasJobs(%s): got %v, %v, want %v", sweepID, got, err, want)
		}
	}
	shortenLease(t, js, "a", 50*time.Millisecond) // now they are unused for some leases soon
	shortenLease(t, js, "b", 50*time.Millisecond)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range ticker.C { // the test's own time limit ends it
		_, errA := js.Consumer(ctx, "JOBS", "sweep-a")
		_, errB := js.Consumer(ctx, "JOBS", "sweep-b")
		// The server removes the name first. A consumer created before the file is removed would
		// continue the old one.
		files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "JOBS", "obs", "sweep-*"))
		if errors.Is(errA, jetstream.ErrConsumerNotFound) && errors.Is(errB, jetstream.ErrConsumerNotFound) && len(files) == 0 && err == nil {
			break
		}
	}
	for _, again := range fetch("a", 5, 2) {
		if again.Attempt != 1 {
			t.Errorf("attempt of %s behind a new consumer: got %d, want 1", again.Rollout.GetId(), again.Attempt)
		}
	}
}

// await waits until it has received all given sweeps.
func await(t *testing.T, received <-chan string, sweeps ...string) {
	t.Helper()
	for len(sweeps) > 0 { // the test's own time limit ends it
		sweepID := <-received
		if sweepID == "done" {
			t.Error("heard of done, which has no job")
		}
		sweeps = slices.DeleteFunc(sweeps, func(id string) bool { return id == sweepID })
	}
}

// TestFollowQueues follows jobs that are queued before, later, and without an announcement.
func TestFollowQueues(t *testing.T) {
	conn := natstest.Connect(t, t.TempDir())
	b := natstest.Open(t, conn, bus.DefaultConfig())
	ctx := t.Context()
	if err := b.Enqueue(ctx, []*busv1.Job{job("known.0"), job("done.0"), job("new.0")}); err != nil {
		t.Fatal(err)
	}
	for _, sweepID := range []string{"known", "done"} { // of both there is a consumer
		queue, err := b.OpenQueue(ctx, sweepID, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		held, err := queue.Fetch(ctx, 1, time.Minute)
		if err != nil || len(held) != 1 {
			t.Fatalf("Fetch: got %d jobs and %v, want 1 and nil", len(held), err)
		}
		if sweepID == "done" {
			if err := held[0].DoubleAck(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, every := range []time.Duration{time.Hour, 20 * time.Millisecond} {
		following, stop := context.WithCancel(ctx)
		received, ended := make(chan string), make(chan error, 1)
		go func() {
			ended <- b.FollowQueues(following, every, func(sweepID string) {
				select {
				case received <- sweepID:
				case <-following.Done():
				}
			}, func(err error) { t.Errorf("look at all queues: got %v, want nil", err) })
		}()
		await(t, received, "known", "new")
		if every == time.Hour {
			if err := b.Enqueue(ctx, []*busv1.Job{job("later.0")}); err != nil {
				t.Fatal(err)
			}
			await(t, received, "later")
		} else {
			raw, err := proto.Marshal(job("silent.0"))
			if err == nil {
				err = conn.Publish("jobs.silent.0", raw)
			}
			if err != nil {
				t.Fatal(err)
			}
			await(t, received, "silent", "known")
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("FollowQueues: got %v, want nil", err)
		}
	}
}

func TestQueued(t *testing.T) {
	ctx, b := t.Context(), natstest.Start(t)
	if err := b.Enqueue(ctx, []*busv1.Job{{Rollout: &busv1.Rollout{Id: "s.0"}}, {Rollout: &busv1.Rollout{Id: "s.1"}, Round: 2}, {Rollout: &busv1.Rollout{Id: "other.0"}}}); err != nil {
		t.Fatal(err)
	}
	for sweep, want := range map[string]int{"s": 2, "other": 1, "none": 0} {
		if got, err := b.Queued(ctx, sweep); err != nil || got != want {
			t.Errorf("queued rollouts of %s: got %d, %v, want %d", sweep, got, err, want)
		}
	}
}

// TestQueueLeases opens a queue with several leases: the longest holds for all, because who has it
// extends its jobs less often than a shorter one allows.
func TestQueueLeases(t *testing.T) {
	b := natstest.Open(t, natstest.Connect(t, t.TempDir()), bus.DefaultConfig())
	for _, c := range []struct{ given, want time.Duration }{{time.Minute, time.Minute}, {time.Minute, time.Minute}, {time.Second, time.Minute}, {time.Hour, time.Hour}} {
		queue, err := b.OpenQueue(t.Context(), "s", c.given)
		if err != nil || queue.Lease != c.want {
			t.Errorf("lease of %s: got %+v and %v, want %s", c.given, queue, err, c.want)
		}
	}
}
