package natsserver

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestCorruptSequence flips a high bit of a stored message's sequence: a server starts again and
// has the messages before it.
func TestCorruptSequence(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a] *") // which is no pattern
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	opened := func(use func(js jetstream.JetStream)) {
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
	opened(func(js jetstream.JetStream) {
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
	opened(func(js jetstream.JetStream) {
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
