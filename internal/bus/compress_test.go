package bus_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestLongMessages checks that a long entry and a long turn are compressed on the server, and that
// every read decompresses them.
func TestLongMessages(t *testing.T) {
	conn := natstest.Connect(t, t.TempDir())
	b := natstest.Open(t, conn, natstest.OneShard)
	long := strings.Repeat("long ", 100_000)
	entry := opening("s.1", 0)
	entry.Claim.Worker = long
	if _, err := b.Append(t.Context(), "s.1", entry, bus.Position{}); err != nil {
		t.Fatal(err)
	}
	if err := b.RecordTurn(t.Context(), bus.TurnRecord{RolloutID: "s.1", Index: 3, Raw: []byte(long)}); err != nil {
		t.Fatal(err)
	}
	for stream, subject := range map[string]string{"BUS_0": "bus.0.s.1", "RECORDING": "turn.s.1.3"} {
		if stored := storedIn(t, conn, stream, subject); len(stored.Data) > len(long)/10 {
			t.Errorf("%s: %d bytes are stored, want less than a tenth of %d", subject, len(stored.Data), len(long))
		}
	}
	if log, err := b.ReadLog(t.Context(), "s.1"); err != nil || len(log.Entries) != 1 || !proto.Equal(log.Entries[0], entry) {
		t.Errorf("ReadLog: got %.100v and %v, want the entry", log, err)
	}
	if raw, _, err := b.Turn(t.Context(), "s.1", 3); err != nil || string(raw) != long {
		t.Errorf("Turn: got %.100q and %v, want what was recorded", raw, err)
	}
	if followed := first(t, b); !proto.Equal(followed, entry) {
		t.Errorf("FollowLog: got %.100v, want the entry", followed)
	}
}

// TestForgedCompression reads messages whose header does not match their data.
func TestForgedCompression(t *testing.T) {
	for name, data := range map[string]string{
		"no S2":             "\xff\xff\xff",
		"cut":               "\x80\x80\x01abc",
		"more than allowed": "\x80\x80\x80\x80\x08abc",
	} {
		t.Run(name, func(t *testing.T) {
			conn := natstest.Connect(t, t.TempDir())
			b := natstest.Open(t, conn, natstest.OneShard)
			msg := nats.NewMsg("bus.0.s.1")
			msg.Header.Set("Content-Encoding", "s2")
			msg.Data = []byte(data)
			if _, err := conn.RequestMsgWithContext(t.Context(), msg); err != nil {
				t.Fatal(err)
			}
			if _, err := b.ReadLog(t.Context(), "s.1"); err == nil || !strings.Contains(err.Error(), "BUS_0, sequence 1") {
				t.Errorf("ReadLog: got %v, want an error that names stream and sequence", err)
			}
			if entry := first(t, b); entry != nil {
				t.Errorf("FollowLog: got %v, want nil", entry)
			}
		})
	}
}

func storedIn(t *testing.T, conn *nats.Conn, stream, subject string) *jetstream.RawStreamMsg {
	t.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := opened.GetLastMsgForSubject(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// first returns the first entry that a follower of the logs receives.
func first(t *testing.T, b *bus.Bus) (entry *busv1.LogEntry) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := b.FollowLog(ctx, 0, func(_ string, _ uint64, got *busv1.LogEntry) error {
		entry = got
		stop()
		return nil
	})
	if err != nil {
		t.Fatalf("FollowLog: %v", err)
	}
	return entry
}
