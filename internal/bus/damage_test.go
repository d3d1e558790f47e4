package bus_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// logOf appends n entries to a log and returns the position after each.
func logOf(t *testing.T, b *bus.Bus, id string, n int) []bus.Position {
	t.Helper()
	ends := []bus.Position{{}}
	for i := range int32(n) {
		entry := entry(i)
		if i == 0 {
			entry = opening(id, i)
		}
		end, err := b.Append(t.Context(), id, entry, ends[i])
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	return ends[1:]
}

// damageable is a bus with one shard and the stream of its logs.
type damageable struct {
	*bus.Bus
	js     jetstream.JetStream
	stream jetstream.Stream
}

func openDamageable(t *testing.T) damageable {
	t.Helper()
	conn := natstest.Connect(t, t.TempDir())
	b := natstest.Open(t, conn, natstest.OneShard)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "BUS_0")
	if err != nil {
		t.Fatal(err)
	}
	return damageable{b, js, stream}
}

// forge appends bytes to a log after a sequence.
func (d damageable) forge(t *testing.T, id string, raw []byte, after uint64) {
	t.Helper()
	msg := nats.NewMsg("bus.0." + id)
	msg.Data = raw
	if _, err := d.js.PublishMsg(t.Context(), msg, jetstream.WithExpectLastSequencePerSubject(after)); err != nil {
		t.Fatal(err)
	}
}

// TestLogWithoutEntry deletes each entry of a log in turn. The error of reading names the stream
// and the sequence, and the log can be reopened.
func TestLogWithoutEntry(t *testing.T) {
	d := openDamageable(t)
	const entries = 4
	for at := range entries - 1 {
		t.Run(fmt.Sprint("without entry ", at), func(t *testing.T) {
			id := fmt.Sprintf("gone.%d", at)
			ends := logOf(t, d.Bus, id, entries)
			if err := d.stream.DeleteMsg(t.Context(), ends[at].Sequence); err != nil {
				t.Fatal(err)
			}
			log, err := d.ReadLog(t.Context(), id)
			want := fmt.Sprintf("log of rollout %s, stream BUS_0, sequence %d: entry %d is gone", id, ends[at].Sequence, at)
			if !errors.Is(err, bus.ErrDamaged) || !strings.Contains(err.Error(), want) {
				t.Fatalf("ReadLog: got %v, want %q", err, want)
			}
			if len(log.Entries) != entries-1-at || log.End.Sequence != ends[entries-1].Sequence {
				t.Errorf("ReadLog: got %d entries up to %d, want those behind the damage", len(log.Entries), log.End.Sequence)
			}
			if _, err := d.Reopen(t.Context(), id, opening(id, 7), log.End); err != nil {
				t.Fatal(err)
			}
			if log, err = d.ReadLog(t.Context(), id); err != nil || len(log.Entries) != 1 || log.Entries[0].GetClaim().GetAttempt() != 7 {
				t.Errorf("ReadLog of the new log: got %v and %v, want its one entry", log, err)
			}
		})
	}
}

// TestLogWithForgedEntry appends invalid entries to a log. Reading fails, and the log can be
// reopened.
func TestLogWithForgedEntry(t *testing.T) {
	d := openDamageable(t)
	for name, raw := range map[string][]byte{"foreign bytes": []byte("foreign"), "nothing": nil, "an entry without digest": marshal(t, entry(9))} {
		t.Run(name, func(t *testing.T) {
			id := "forged." + strings.ReplaceAll(name, " ", "-")
			d.forge(t, id, raw, logOf(t, d.Bus, id, 2)[1].Sequence)
			if log, err := d.ReadLog(t.Context(), id); !errors.Is(err, bus.ErrDamaged) || log.End.Sequence != 0 {
				t.Fatalf("ReadLog: got %v and %v, want damage and no end", log, err)
			}
			if _, err := d.Reopen(t.Context(), id, opening(id, 7), bus.Position{}); err != nil {
				t.Fatal(err)
			}
			if log, err := d.ReadLog(t.Context(), id); err != nil || len(log.Entries) != 1 {
				t.Errorf("ReadLog of the new log: got %v and %v, want its one entry", log, err)
			}
		})
	}
	t.Run("an entry of another log", func(t *testing.T) {
		first, second := logOf(t, d.Bus, "one.0", 2), logOf(t, d.Bus, "two.0", 3)
		stolen, err := d.stream.GetMsg(t.Context(), second[2].Sequence)
		if err != nil {
			t.Fatal(err)
		}
		d.forge(t, "one.0", stolen.Data, first[1].Sequence)
		if _, err := d.ReadLog(t.Context(), "one.0"); !errors.Is(err, bus.ErrDamaged) {
			t.Errorf("ReadLog: got %v, want %v", err, bus.ErrDamaged)
		}
	})
}

func marshal(t *testing.T, message proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestDamagedSetup stores another setup under a setup's digest. Reading it fails, and PutSetup
// repairs it.
func TestDamagedSetup(t *testing.T) {
	conn := natstest.Connect(t, t.TempDir())
	b := natstest.Open(t, conn, natstest.OneShard)
	digest, err := b.PutSetup(t.Context(), &setupv1.Setup{Name: "right"})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Publish("setup."+digest, marshal(t, &setupv1.Setup{Name: "wrong"})); err != nil {
		t.Fatal(err)
	}
	other := natstest.Open(t, conn, natstest.OneShard) // the first one remembers the setup
	if setup, err := other.Setup(t.Context(), digest); !errors.Is(err, bus.ErrNotFound) || !strings.Contains(err.Error(), "stream SETUP, sequence 2") {
		t.Fatalf("Setup: got %v and %v, want an error that names what has other content", setup, err)
	}
	if _, err := other.PutSetup(t.Context(), &setupv1.Setup{Name: "right"}); err != nil {
		t.Fatal(err)
	}
	third := natstest.Open(t, conn, natstest.OneShard)
	if setup, err := third.Setup(t.Context(), digest); err != nil || setup.GetName() != "right" {
		t.Errorf("Setup: got %v and %v, want the right one", setup, err)
	}
}

// FuzzEntry checks that a modified entry does not decode.
func FuzzEntry(f *testing.F) {
	for i := range 60 {
		f.Add(i, byte(1<<(i%8)), i%3)
	}
	f.Fuzz(func(t *testing.T, at int, flip byte, cut int) {
		raw, err := bus.Seal(&busv1.LogEntry{Claim: &busv1.Claim{Worker: "worker", Round: 3}}, bus.Position{Entries: 2, Digest: []byte("before")})
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(raw)
		changed[uint(at)%uint(len(raw))] ^= flip
		changed = changed[:len(changed)-int(uint(cut)%uint(len(raw)))]
		entry, err := bus.Unseal(changed)
		if same := bytes.Equal(raw, changed); same != (err == nil) {
			t.Errorf("entry changed %v: got %v and %v", !same, entry, err)
		}
	})
}
