package natsserver

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// withServer calls use while a server serves the directory.
func withServer(t *testing.T, dir string, use func(js jetstream.JetStream)) {
	t.Helper()
	srv, err := Start(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := srv.Connect()
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	use(js)
	conn.Close()
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
}

// TestClockWentBack stops a server with a message that is delivered, but not acknowledged. If the
// state was written at a time that is yet to come, the next server delivers the message again,
// otherwise it waits for the acknowledgement.
func TestClockWentBack(t *testing.T) {
	for _, test := range []struct {
		name    string
		ahead   time.Duration
		pending int
	}{{"written before", -time.Minute, 1}, {"yet to come", time.Hour, 0}} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			withServer(t, dir, func(js jetstream.JetStream) {
				stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
					Name: "S", Subjects: []string{"s.>"}, Storage: jetstream.FileStorage, Retention: jetstream.WorkQueuePolicy,
				})
				if err != nil {
					t.Fatal(err)
				}
				consumer, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := js.Publish(t.Context(), "s.a", []byte("hello")); err != nil {
					t.Fatal(err)
				}
				if _, err := consumer.Next(); err != nil {
					t.Fatal(err)
				}
			})
			states, err := filepath.Glob(filepath.Join(dir, "jetstream", "[$]G", "streams", "S", "obs", "c", "o.dat"))
			if err != nil || len(states) != 1 {
				t.Fatalf("states: got %v and %v, want one", states, err)
			}
			written := time.Now().Add(test.ahead)
			if err := os.Chtimes(states[0], written, written); err != nil {
				t.Fatal(err)
			}
			withServer(t, dir, func(js jetstream.JetStream) {
				consumer, err := js.Consumer(t.Context(), "S", "c")
				if err != nil {
					t.Fatal(err)
				}
				if got := consumer.CachedInfo().NumAckPending; got != test.pending {
					t.Errorf("unacknowledged messages: got %d, want %d", got, test.pending)
				}
				if test.pending > 0 {
					return
				}
				msg, err := consumer.Next()
				if err != nil || string(msg.Data()) != "hello" {
					t.Errorf("next message: got %v and %v, want the one of before", msg, err)
				}
			})
		})
	}
}

// TestCorruptSequence flips a high bit of a stored message's sequence: a server starts again and
// has the messages before it.
func TestCorruptSequence(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a] *") // which is no pattern
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	withServer(t, dir, func(js jetstream.JetStream) {
		if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Storage: jetstream.FileStorage}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := js.Publish(ctx, "s.a", []byte("hello")); err != nil {
				t.Fatal(err)
			}
		}
	})
	blocks, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "jetstream", "[$]G", "streams", "S", "msgs", "*.blk"))
	if err != nil || len(blocks) != 1 {
		t.Fatalf("blocks: got %v and %v, want one", blocks, err)
	}
	raw, err := os.ReadFile(blocks[0])
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/3+4+5] ^= 1 // of the second message: behind four bytes of its length, 2^40 of its sequence
	if err := os.WriteFile(blocks[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
	withServer(t, dir, func(js jetstream.JetStream) {
		stream, err := js.Stream(ctx, "S")
		if err != nil {
			t.Fatal(err)
		}
		if msg, err := stream.GetMsg(ctx, 1); err != nil || string(msg.Data) != "hello" {
			t.Errorf("message 1: got %v and %v, want what was published", msg, err)
		}
		if msg, err := stream.GetMsg(ctx, 2); err == nil {
			t.Errorf("message 2: got %v, want an error", msg)
		}
	})
}
