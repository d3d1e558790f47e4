package conversation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUniqueIDs checks that each call gets an id of its own, which its result shares.
func TestUniqueIDs(t *testing.T) {
	var entries []Entry
	add := func(kind Kind, id *string) {
		entry := Entry{Kind: kind, Index: int32(len(entries)), RowID: id, ID: noID}
		if id != nil {
			entry.ID = *id
		}
		entries = append(entries, entry)
	}
	for _, turn := range [][]*string{{new("a"), new("b")}, {nil, nil}, {new("a"), new("a")}, {new("")}} {
		for _, id := range turn {
			add(ToolCall, id)
		}
		for _, id := range turn {
			add(Result, id)
		}
	}
	add(Result, nil)
	UniqueIDs(entries)
	var got []string
	for _, entry := range entries {
		if entry.ID != entry.CallID() {
			t.Errorf("entry %d: got ids %q and %q, want the same", entry.Index, entry.ID, entry.CallID())
		}
		got = append(got, entry.ID)
	}
	want := "a b a b call_4 call_5 call_4 call_5 call_8 call_9 call_8 call_9 call_12 call_12 call_14"
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
