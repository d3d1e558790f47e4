package bus_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
)

// TestTurnIsReplaced checks that a recorded turn is replaced only by a writer with its revision.
func TestTurnIsReplaced(t *testing.T) {
	b := natstest.Start(t)
	ctx := t.Context()
	if _, _, err := b.Turn(ctx, "s.1", 2); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("before: got %v, want %v", err, bus.ErrNotFound)
	}
	var revision uint64
	for _, text := range []string{"first", "second"} {
		before := revision
		if err := b.RecordTurn(ctx, bus.TurnRecord{RolloutID: "s.1", Index: 2, Raw: []byte(text), Revision: before}); err != nil {
			t.Fatal(err)
		}
		if err := b.RecordTurn(ctx, bus.TurnRecord{RolloutID: "s.1", Index: 2, Raw: []byte("other"), Revision: before}); !errors.Is(err, bus.ErrExists) {
			t.Errorf("in place of revision %d, which is not stored any more: got %v, want %v", before, err, bus.ErrExists)
		}
		got, at, err := b.Turn(ctx, "s.1", 2)
		if err != nil || string(got) != text {
			t.Errorf("after: got %q and %v, want %q", got, err, text)
		}
		revision = at
	}
}

// TestRecording stores and reads the recordings of one rollout among others.
func TestRecording(t *testing.T) {
	b := natstest.Start(t)
	ctx := t.Context()
	for _, kind := range []struct {
		name  string
		put   func(id string, index int32, raw []byte) error
		visit func(id string, visit bus.Visit) error
	}{
		{"turn", func(id string, i int32, raw []byte) error { return b.PutTurn(ctx, id, i, raw) }, func(id string, v bus.Visit) error { return b.Turns(ctx, id, v) }},
		{"answer", func(id string, i int32, raw []byte) error { return b.PutAnswer(ctx, id, i, raw) }, func(id string, v bus.Visit) error { return b.Answers(ctx, id, v) }},
	} {
		for range 2 { // the same again succeeds
			for _, id := range []string{"s.1", "s.11", "s"} {
				for _, index := range []int32{2, 10, 4} {
					if err := kind.put(id, index, fmt.Appendf(nil, "%s %s %d", kind.name, id, index)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if err := kind.put("s.1", 2, []byte("other")); !errors.Is(err, bus.ErrExists) {
			t.Errorf("%s: other content: got %v, want %v", kind.name, err, bus.ErrExists)
		}
		var got []string
		if err := kind.visit("s.1", func(index int32, raw []byte) error {
			got = append(got, fmt.Sprintf("%d: %s", index, raw))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		want := []string{"2: " + kind.name + " s.1 2", "4: " + kind.name + " s.1 4", "10: " + kind.name + " s.1 10"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind.name, diff)
		}
		failure := errors.New("enough")
		if err := kind.visit("s.1", func(int32, []byte) error { return failure }); !errors.Is(err, failure) {
			t.Errorf("%s: got %v, want the visitor's error", kind.name, err)
		}
	}
}
