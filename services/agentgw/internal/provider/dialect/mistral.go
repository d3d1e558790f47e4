package dialect

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// mistralMarker precedes a list of calls.
const mistralMarker = "[TOOL_CALLS]"

// shapeMistral reorders a conversation for Mistral's models: a user first, consecutive user texts
// joined, and the system texts before the last user text.
func shapeMistral(p *Prompt) {
	turns := slices.DeleteFunc(slices.Clone(p.Turns), func(t Turn) bool { return t.Kind == kindSystem })
	if len(turns) == 0 || turns[0].Kind != kindUser {
		turns = slices.Insert(turns, 0, Turn{Kind: kindUser})
	}
	var joined []Turn
	last := 0
	for _, turn := range turns {
		if turn.Kind == kindResult && turn.Text == "" {
			turn.Value = (&python.Dict{}).Value()
		}
		turn.Last = false
		if turn.Kind == kindUser && len(joined) > 0 && joined[len(joined)-1].Kind == kindUser {
			before := &joined[len(joined)-1]
			before.Text = join(before.Text, turn.Text)
			continue
		}
		if turn.Kind == kindUser {
			last = len(joined)
		}
		joined = append(joined, turn)
	}
	joined[last].Last = true
	if p.System != "" {
		joined[last].Text = p.System + paragraph + joined[last].Text
	}
	p.Turns = joined
}

// join joins two texts with an empty line, unless one is empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + paragraph + b
}

// parseMistral parses a list of calls after a marker. The list ends at the first closing bracket,
// as in the original.
func parseMistral(text string) *provider.Answer {
	r := reader{id: func(_ int, tool string) string { return tool }}
	_, after, found := strings.Cut(text, mistralMarker)
	if !found {
		return &provider.Answer{Text: text}
	}
	list, _, _ := strings.Cut(after, "]")
	if len(list) < len(after) {
		list += "]"
	} else {
		list = "" // the original finds no end and reads nothing
	}
	value, err := python.ParseJSON(list)
	if err != nil {
		r.addFault("tool_calls_are_no_json", raisedBy(err, exceptionJSON), after)
		return &r.answer
	}
	entries, _ := value.AsList()
	if slices.ContainsFunc(entries, incomplete) {
		return &provider.Answer{Text: text}
	}
	for _, entry := range entries {
		source := python.JSON(entry)
		object, ok := entry.AsDict()
		if !ok {
			r.addFault("tool_call_is_no_object", exceptionAttribute, source)
			continue
		}
		name, _ := object.Get(keyName)
		arguments, _ := object.Get(keyArguments)
		r.addCall(name, arguments, source)
	}
	if len(entries) == 0 {
		r.answer.EmptyReason = "the answer has an empty list of calls"
	}
	return &r.answer
}

// incomplete reports whether an object lacks a part of a call, so that the answer counts as text.
func incomplete(entry python.Value) bool {
	object, ok := entry.AsDict()
	if !ok {
		return false
	}
	name, _ := object.Get(keyName)
	arguments, _ := object.Get(keyArguments)
	return name.IsNone() || arguments.IsNone()
}
