package conversation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/python"
)

// show returns a transcript on one line: the kind of each entry, its text, and the id of a call.
func show(entries []Entry) string {
	names := map[Kind]string{System: "system", User: "user", Assistant: "assistant", ToolCall: "call", Result: "result"}
	var list []string
	for _, e := range entries {
		switch e.Kind {
		case ToolCall:
			list = append(list, "call "+e.CallID())
		case Result:
			list = append(list, fmt.Sprintf("result %s %q", e.CallID(), e.Text))
		case System, User, Assistant:
			list = append(list, fmt.Sprintf("%s %q", names[e.Kind], e.Text))
		}
	}
	return strings.Join(list, ", ")
}

// arrangedTest is a transcript and what becomes of it.
type arrangedTest struct {
	name    string
	entries []Entry
	form    Form
	want    string
}

func formTests() []arrangedTest {
	text := func(kind Kind, text string) Entry { return Entry{Kind: kind, Text: text} }
	call := func(id string) Entry {
		return Entry{Kind: ToolCall, ID: id, Name: "add", Arguments: python.DictOf(python.Item{Key: "n", Value: python.Int(1)})}
	}
	result := func(id, text string) Entry { return Entry{Kind: Result, ID: id, Name: "add", Text: text} }
	user := []Entry{text(System, "s"), text(Assistant, "a"), text(Assistant, "b"), text(User, "c"), text(User, "d")}
	calls := []Entry{
		text(System, "s"), text(System, "t"), text(User, "u"), call("x"), call("y"), result("x", "1"), result("y", "2"), text(User, "note"),
	}
	return []arrangedTest{
		{"plain", user, 0, `system "s", assistant "a", assistant "b", user "c", user "d"`},
		{"model began", user, Alternating, `system "s", user "Hello.", assistant "a\n\nb", user "c\n\nd"`},
		{"model began, no system", user, SystemInUser, `user "s\n\nHello.", assistant "a\n\nb", user "c\n\nd"`},
		{"no text", []Entry{text(System, "s")}, SystemInUser, `user "s"`},
		{"event", calls, Alternating, `system "s\n\nt", user "u", call x, call y, result x "1", result y "2\n\nnote"`},
		{"no system", calls, SystemInUser, `user "s\n\nt\n\nu", call x, call y, result x "1", result y "2\n\nnote"`},
		{"single calls", calls, SingleCalls, `system "s", system "t", user "u", call x, result x "1", call y, result y "2", user "note"`},
		{"single call with no result", calls[3:6], SingleCalls, `call x, result x "1", call y`},
		{"ids", calls[2:], ShortIDs, `user "u", call 000000001, call 000000002, result 000000001 "1", result 000000002 "2", user "note"`},
		{"short ids", []Entry{call("Ab3456789"), result("Ab3456789", "1")}, ShortIDs, `call Ab3456789, result Ab3456789 "1"`},
		{
			"calls as text", calls, CallsAsText,
			`system "s\n\nt", user "u", assistant "{\"name\": \"add\", \"arguments\": {\"n\": 1}}\n\n{\"name\": \"add\", \"arguments\": {\"n\": 1}}", ` +
				`user "[Result of add] 1\n\n[Result of add] 2\n\nnote"`,
		},
		{"all but calls as text", calls, SystemInUser | SingleCalls | ShortIDs, `user "s\n\nt\n\nu", call 000000001, result 000000001 "1", call 000000002, result 000000002 "2\n\nnote"`},
	}
}

// TestArrange checks each form. The transcript itself stays as it is, and a form does not change
// what already has it.
func TestArrange(t *testing.T) {
	for _, test := range formTests() {
		before := show(test.entries)
		got, _ := test.form.Arrange(test.entries)
		if diff := cmp.Diff(test.want, show(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if diff := cmp.Diff(before, show(test.entries)); diff != "" {
			t.Errorf("%s: the transcript changed (-before +after):\n%s", test.name, diff)
		}
		if again, changed := test.form.Arrange(got); changed != 0 {
			t.Errorf("%s: arranged once more, it became %s (%b)", test.name, show(again), changed)
		}
	}
}

// TestFormString checks the names of the arrangements.
func TestFormString(t *testing.T) {
	for form, want := range map[Form]string{
		0: "", Alternating: "user first and speakers in turn", SystemInUser | ShortIDs: "ids of nine characters, user first and speakers in turn, system text in the user's",
		CallsAsText | SingleCalls: "one call at a time, calls as texts, user first and speakers in turn",
	} {
		if got := form.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestArrangedIndex checks that an entry which is no longer its message has the index of none, so
// that no native turn replaces it.
func TestArrangedIndex(t *testing.T) {
	entries := []Entry{
		{Kind: User, Index: 0}, {Kind: ToolCall, Index: 1, ID: "x"}, {Kind: Result, Index: 2, ID: "x"}, {Kind: Assistant, Index: 3}, {Kind: Assistant, Index: 4},
	}
	for form, want := range map[Form][]int32{
		Alternating: {0, 1, 2, -1}, SingleCalls: {0, 1, 2, 3, 4}, ShortIDs: {0, -1, -1, 3, 4}, CallsAsText: {0, -1, -1, -1},
	} {
		arranged, _ := form.Arrange(entries)
		var got []int32
		for _, e := range arranged {
			got = append(got, e.Index)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("form %b (-want +got):\n%s", form, diff)
		}
	}
}

// TestTraits checks what a server may refuse in a conversation.
func TestTraits(t *testing.T) {
	tests := formTests()
	for name, want := range map[string]Form{
		"model began": alternating | systemInUser, "no text": systemInUser, "event": alternating | systemInUser | callsAsText | SingleCalls | ShortIDs,
		"short ids": alternating | callsAsText,
	} {
		for _, test := range tests {
			if got := Traits(test.entries); test.name == name && got != want {
				t.Errorf("%s: got %b, want %b", name, got, want)
			}
		}
	}
	if got := Traits([]Entry{{Kind: User}, {Kind: Assistant}, {Kind: User}}); got != 0 {
		t.Errorf("a conversation that alternates: got %b, want none", got)
	}
}
