package conversation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// Form is the way in which a transcript is arranged for a server whose chat template takes only
// some conversations. It is a set. The zero value is the conversation as the role sees it.
type Form uint8

// The arrangements. SystemInUser and CallsAsText make texts of the user and of the model, so they
// include Alternating.
const (
	alternating Form = 1 << iota
	systemInUser
	callsAsText
	// SingleCalls: each result follows its call, so no message has two calls.
	SingleCalls
	// ShortIDs: the ids of calls are nine letters or digits.
	ShortIDs

	// Alternating: the user begins, and no two texts of one role stand in a row. The text of an event
	// after a tool's result is part of the result.
	Alternating = alternating
	// SystemInUser: the system's text begins the user's first text.
	SystemInUser = systemInUser | Alternating
	// CallsAsText: calls are texts of the model, and their results are texts of the user.
	CallsAsText = callsAsText | Alternating
)

const (
	// opening is the user's first text in a conversation that the model began.
	opening = "Hello."
	// rearranged is the index of an entry that is no longer the message as it was. No native turn
	// stands for it.
	rearranged = -1
	paragraph  = "\n\n"
)

// arrangements are those of a form, in the order in which they are made. At last, texts are joined
// if the form is alternating.
var arrangements = []struct {
	form    Form
	text    string // for people
	arrange func([]Entry) ([]Entry, bool)
}{
	{SingleCalls, "one call at a time", splitCalls},
	{ShortIDs, "ids of nine characters", shortenIDs},
	{callsAsText, "calls as texts", writeCalls},
	{alternating, "user first and speakers in turn", openWithUser},
	{systemInUser, "system text in the user's", moveSystem},
}

// String returns the arrangements, for people.
func (f Form) String() string {
	var list []string
	for _, a := range arrangements {
		if f&a.form != 0 {
			list = append(list, a.text)
		}
	}
	return strings.Join(list, ", ")
}

// Arrange returns a transcript in the form, and the arrangements that changed it. It does not
// change entries.
func (f Form) Arrange(entries []Entry) (arranged []Entry, changed Form) {
	arranged = slices.Clone(entries)
	for _, a := range arrangements {
		if f&a.form == 0 {
			continue
		}
		var did bool
		if arranged, did = a.arrange(arranged); did {
			changed |= a.form
		}
	}
	if f&alternating == 0 {
		return arranged, changed
	}
	n := len(arranged)
	if arranged = joinTexts(arranged); len(arranged) < n {
		changed |= alternating
	}
	return arranged, changed
}

// Traits returns the arrangements that would change a transcript, each for itself. What a server
// refuses depends on them.
func Traits(entries []Entry) (traits Form) {
	for _, form := range []Form{Alternating, SystemInUser, CallsAsText, SingleCalls, ShortIDs} {
		_, changed := form.Arrange(entries)
		if form != Alternating {
			changed &^= alternating
		}
		traits |= changed
	}
	return traits
}

// splitCalls moves each result behind its call.
func splitCalls(entries []Entry) ([]Entry, bool) {
	list, changed := make([]Entry, 0, len(entries)), false
	for len(entries) > 0 {
		calls := countWhile(entries, ToolCall)
		if calls < 2 {
			list, entries = append(list, entries[0]), entries[1:]
			continue
		}
		results := slices.Clone(entries[calls : calls+countWhile(entries[calls:], Result)])
		for _, call := range entries[:calls] {
			call.Index = rearranged
			list = append(list, call)
			own := slices.IndexFunc(results, func(r Entry) bool { return r.CallID() == call.CallID() })
			if own >= 0 {
				list, results = append(list, results[own]), slices.Delete(results, own, own+1)
			}
		}
		list = append(list, results...)
		entries, changed = entries[calls+countWhile(entries[calls:], Result):], true
	}
	return list, changed
}

// countWhile returns the number of entries of a kind at the beginning.
func countWhile(entries []Entry, kind Kind) int {
	n := slices.IndexFunc(entries, func(e Entry) bool { return e.Kind != kind })
	if n < 0 {
		return len(entries)
	}
	return n
}

// idLength is the length of a short id.
const idLength = 9

// shortenIDs numbers the calls if an id is no short one.
func shortenIDs(entries []Entry) ([]Entry, bool) {
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.isOfCall() && !isShort(e.CallID()) }) {
		return entries, false
	}
	numbers := make(map[string]string)
	for i := range entries {
		entry := &entries[i]
		if !entry.isOfCall() {
			continue
		}
		id, known := numbers[entry.CallID()]
		if !known {
			id = fmt.Sprintf("%0*d", idLength, len(numbers)+1)
			numbers[entry.CallID()] = id
		}
		entry.Index = rearranged
		entry.rename(id)
	}
	return entries, true
}

func (e Entry) isOfCall() bool { return e.Kind == ToolCall || e.Kind == Result }

func isShort(id string) bool {
	return len(id) == idLength && !slices.ContainsFunc([]byte(id), func(b byte) bool {
		return (b < '0' || b > '9') && (b < 'A' || b > 'Z') && (b < 'a' || b > 'z')
	})
}

// writeCalls replaces calls and results by texts.
func writeCalls(entries []Entry) ([]Entry, bool) {
	changed := false
	for i, entry := range entries {
		switch entry.Kind {
		case ToolCall:
			entries[i] = Entry{Kind: Assistant, Index: rearranged, Text: fmt.Sprintf(`{"name": %s, "arguments": %s}`,
				python.JSON(python.Str(entry.Name)), entry.ArgumentsObject(false))}
		case Result:
			entries[i] = Entry{Kind: User, Index: rearranged, Text: fmt.Sprintf("[Result of %s] %s", entry.Name, entry.Text)}
		case System, User, Assistant:
			continue
		}
		changed = true
	}
	return entries, changed
}

// openWithUser inserts a text of the user before the model's first turn if the model began.
func openWithUser(entries []Entry) ([]Entry, bool) {
	first := slices.IndexFunc(entries, func(e Entry) bool { return e.Kind != System })
	if first < 0 || !entries[first].FromModel() {
		return entries, false
	}
	return slices.Insert(entries, first, Entry{Kind: User, Index: rearranged, Text: opening}), true
}

// moveSystem makes the system's texts those of the user.
func moveSystem(entries []Entry) ([]Entry, bool) {
	changed := false
	for i := range entries {
		if entries[i].Kind == System {
			entries[i].Kind, changed = User, true
		}
	}
	return entries, changed
}

// joinTexts joins successive texts of one role, and a text of the user with a result before it.
func joinTexts(entries []Entry) []Entry {
	list := entries[:0]
	for _, entry := range entries {
		if last := len(list) - 1; last >= 0 && joins(list[last].Kind, entry.Kind) {
			before := &list[last]
			before.Text, before.Value, before.Index = before.Text+paragraph+entry.Text, nil, rearranged
			continue
		}
		list = append(list, entry)
	}
	return list
}

// joins reports whether an entry becomes part of the one before it.
func joins(before, kind Kind) bool {
	switch kind {
	case System, Assistant:
		return before == kind
	case User:
		return before == User || before == Result
	case ToolCall, Result:
	}
	return false
}
