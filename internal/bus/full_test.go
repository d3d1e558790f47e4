package bus_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

func TestFullStream(t *testing.T) {
	cfg := natstest.OneShard
	cfg.Bytes = 256 << 20
	conn := natstest.Connect(t, t.TempDir())
	checkFull(t, natstest.Open(t, conn, cfg), jetStream(t, conn))
}

// TestTooManyBytes asks for more bytes than a server has.
func TestTooManyBytes(t *testing.T) {
	js := jetStream(t, natstest.Connect(t, t.TempDir()))
	cfg := natstest.OneShard
	cfg.Bytes = 1 << 60
	err := bus.Init(t.Context(), js, cfg, func(err error) { t.Errorf("Init waits: %v", err) })
	if want := "the NATS servers have less room than --bus-bytes"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Init: got %v, want an error with %q", err, want)
	}
}

// checkFull fills the queue of jobs: what it has stays, a further job waits with a named error, and
// is queued when there is room. Other streams have theirs.
func checkFull(t *testing.T, b *bus.Bus, js jetstream.JetStream) {
	t.Helper()
	job := func(id string) []*busv1.Job { return []*busv1.Job{{Rollout: &busv1.Rollout{Id: id}}} }
	if err := b.Enqueue(t.Context(), job("s.0")); err != nil {
		t.Fatal(err)
	}
	fill(t, js, "jobs.filler.")
	var err error
	for wait := 200 * time.Millisecond; !errors.Is(err, bus.ErrFull) && wait < time.Minute; wait *= 2 { // the answer may come later
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		err = b.Enqueue(ctx, job("s.1"))
		cancel()
	}
	if want := "queue jobs: stream JOBS: full: "; !errors.Is(err, bus.ErrFull) || !errors.Is(err, bus.ErrUnavailable) || !strings.HasPrefix(err.Error(), want) {
		t.Fatalf("Enqueue: got %v, want %v that begins with %q", err, bus.ErrFull, want)
	}
	if queued, err := b.Queued(t.Context(), "s"); queued != 1 || err != nil {
		t.Errorf("queued: got %d and %v, want the one of before", queued, err)
	}
	if _, err := b.Append(t.Context(), "s.0", entry(1), bus.Position{}); err != nil {
		t.Errorf("Append: got %v, want nil", err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- b.Enqueue(t.Context(), job("s.1")) }()
	stream, err := js.Stream(t.Context(), "JOBS")
	if err == nil {
		err = stream.Purge(t.Context(), jetstream.WithPurgeSubject("jobs.filler.>"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Errorf("Enqueue with room: got %v, want nil", err)
	}
}

// fill publishes large messages, and then smaller ones, until their stream takes none.
func fill(t *testing.T, js jetstream.JetStream, prefix string) {
	t.Helper()
	data := make([]byte, 900<<10)
	for n := 0; len(data) > 0; n++ {
		if _, err := js.Publish(t.Context(), prefix+strconv.Itoa(n), data); err == nil {
			continue
		}
		data = data[:len(data)/2]
	}
}

// TestBytesAreShared adds up the bounds of all streams.
func TestBytesAreShared(t *testing.T) {
	for _, shards := range []int{1, 4, 1024} {
		cfg := bus.Config{Shards: shards, Replicas: 1, Bytes: 16 << 30}
		sum := int64(0)
		for _, stream := range bus.StreamConfigs(cfg) {
			if stream.MaxBytes <= 0 || stream.Discard != jetstream.DiscardNew {
				t.Errorf("%s: got %d bytes and %v, want a bound at which new messages are refused", stream.Name, stream.MaxBytes, stream.Discard)
			}
			sum += stream.MaxBytes
		}
		if sum > cfg.Bytes || sum < cfg.Bytes*9/10 {
			t.Errorf("%d shards: got %d bytes, want nearly the %d of all", shards, sum, cfg.Bytes)
		}
	}
}
