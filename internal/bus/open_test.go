package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
)

// openTimeout bounds the start of a cluster of servers on a busy machine.
const openTimeout = time.Minute

// jetStream returns the JetStream API of a connection.
func jetStream(t *testing.T, conn *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// open opens a bus on streams that exist. As services do, it retries while NATS does not answer.
func open(t *testing.T, js jetstream.JetStream, roles ...bus.Role) *bus.Bus {
	t.Helper()
	for limit := time.Now().Add(openTimeout); ; {
		b, err := bus.Open(t.Context(), js, roles...)
		if err == nil {
			return b
		}
		if !errors.Is(err, bus.ErrNotReady) || time.Now().After(limit) {
			t.Fatalf("Open as %v: got %v, want nil", roles, err)
		}
	}
}

// TestOpenLooksUp opens a bus before, while and after somebody makes its streams. Open makes none.
func TestOpenLooksUp(t *testing.T) {
	js := jetStream(t, natstest.Connect(t, t.TempDir()))
	if _, err := bus.Open(t.Context(), js); !errors.Is(err, bus.ErrNotReady) || !strings.Contains(err.Error(), "stream SETUP: ") {
		t.Errorf("Open without streams: got %v, want %v and the stream", err, bus.ErrNotReady)
	}
	if names := js.StreamNames(t.Context()); len(names.Name()) > 0 || names.Err() != nil {
		t.Errorf("streams: got one (%v), want none", names.Err())
	}
	cfg := bus.Config{Shards: 2, Replicas: 1, Retention: time.Hour, CreateTimeout: openTimeout}
	failed := func(err error) { t.Errorf("Init waits: %v", err) }
	for range 2 { // it is idempotent
		if err := bus.Init(t.Context(), js, cfg, failed); err != nil {
			t.Fatal(err)
		}
	}
	if shards := open(t, js).Shards(); shards != 2 {
		t.Errorf("Open: got %d shards, want the two that were made", shards)
	}
	if err := js.DeleteStream(t.Context(), "BUS_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Open(t.Context(), js); !errors.Is(err, bus.ErrNotReady) || !strings.Contains(err.Error(), "stream BUS_1: ") {
		t.Errorf("Open without one stream: got %v, want %v and the stream", err, bus.ErrNotReady)
	}
}

// silent loses the answers to some requests for a stream.
type silent struct {
	jetstream.JetStream
	requests, lost int
}

func (s *silent) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if s.requests++; s.requests == s.lost {
		return nil, context.DeadlineExceeded
	}
	return s.JetStream.Stream(ctx, name)
}

// TestMakeRetries has NATS answer for all streams while they are made, and then not for one.
func TestMakeRetries(t *testing.T) {
	js := jetStream(t, natstest.Connect(t, t.TempDir()))
	const streams = 9 // of one shard
	waits := 0
	b, err := bus.Make(t.Context(), &silent{JetStream: js, lost: streams + 1}, natstest.OneShard, func(err error) {
		waits++
		if !errors.Is(err, bus.ErrNotReady) {
			t.Errorf("what it waits for: got %v, want %v", err, bus.ErrNotReady)
		}
	})
	if err != nil || waits != 1 {
		t.Fatalf("Make: got %d waits and %v, want one and a bus", waits, err)
	}
	if queued, err := b.Queued(t.Context(), "s"); queued != 0 || err != nil {
		t.Errorf("queued: got %d and %v, want 0", queued, err)
	}
}

// TestInitChanges changes settings of streams that exist: all but the number of shards can.
func TestInitChanges(t *testing.T) {
	js := jetStream(t, natstest.Connect(t, t.TempDir()))
	never := func(err error) { t.Errorf("Init waits: %v", err) }
	cfg := natstest.OneShard
	if err := bus.Init(t.Context(), js, cfg, never); err != nil {
		t.Fatal(err)
	}
	for _, shards := range []int{2, 4} {
		more := cfg
		more.Shards = shards
		if err := bus.Init(t.Context(), js, more, never); !errors.Is(err, bus.ErrOtherShards) || !strings.Contains(err.Error(), "the installation has 1, and --bus-shards is ") {
			t.Errorf("Init with %d shards: got %v, want %v with both numbers", shards, err, bus.ErrOtherShards)
		}
	}
	cfg.Retention = time.Hour
	if err := bus.Init(t.Context(), js, cfg, never); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "SETUP")
	if err != nil || stream.CachedInfo().Config.Metadata["toolsandbox-retention"] != "1h0m0s" {
		t.Errorf("SETUP: got %v, want one with an hour", err)
	}
}

// TestLongInitWithoutLeader makes streams on the first of three servers: it says what it waits for,
// gives up after its time, and succeeds when the others come.
func TestLongInitWithoutLeader(t *testing.T) {
	start := natstest.Cluster(t, 3)
	js := jetStream(t, natstest.Dial(t, start(0)))
	if _, err := bus.Open(t.Context(), js); !errors.Is(err, bus.ErrNotReady) {
		t.Errorf("Open without a leader: got %v, want %v", err, bus.ErrNotReady)
	}
	cfg := bus.Config{Shards: 1, Replicas: 3, Bytes: 256 << 20, CreateTimeout: 300 * time.Millisecond}
	waits := 0
	err := bus.Init(t.Context(), js, cfg, func(error) { waits++ })
	if want := "stream JOBS: "; waits == 0 || !errors.Is(err, bus.ErrUnavailable) || !strings.Contains(err.Error(), want) {
		t.Errorf("Init without a leader: got %d waits and %v, want some and %v with %q", waits, err, bus.ErrUnavailable, want)
	}
	cfg.CreateTimeout = openTimeout
	ctx, cancel := context.WithTimeout(t.Context(), 2*openTimeout)
	defer cancel()
	waiting, ended := make(chan error, 1000), make(chan error, 1)
	go func() { ended <- bus.Init(ctx, js, cfg, func(err error) { waiting <- err }) }()
	if err := <-waiting; !strings.Contains(err.Error(), "stream JOBS cannot be created yet: ") {
		t.Errorf("what it waits for: got %v, want the stream", err)
	}
	start(1)
	start(2)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	checkFull(t, open(t, js), js)
}
