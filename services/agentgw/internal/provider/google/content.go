package google

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

const (
	// opening begins a conversation in which the model spoke first; the interface wants a user's
	// text there.
	opening = "Hello."
	// blank stands for an empty text of somebody else, which the interface refuses.
	blank = " "
	// nameless stands for the name of a tool that the model called by none; the interface refuses
	// to be without.
	nameless = "unnamed"
)

func textPart(text string) part { return part{Text: &text} }

// system returns the system texts that stand before anything else, one part each. Later ones are
// not sent, as in the original, but to a simulated user, whose instruction stands behind its
// demonstrations: the original has none of these.
func system(q *provider.Query) *content {
	var parts []part
	for _, entry := range q.Transcript {
		if entry.Kind != conversation.System {
			if q.Flipped {
				continue
			}
			break
		}
		if entry.Text != "" || !strict(q) {
			parts = append(parts, textPart(entry.Text))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return &content{Role: roleUser, Parts: parts}
}

// speech gathers the contents of a request.
type speech struct {
	codec          Codec
	strict, opened bool
	list           []content
	// open is the kind of the last content, and parts are its parts; further calls and results join
	// them.
	open  conversation.Kind
	parts []part
	// ids are those that the provider itself gave to the calls of the last turn.
	ids map[string]bool
}

// contents translates a transcript without its system texts. Consecutive calls are one content,
// consecutive results too. A turn that is known in the provider's own form is sent in it.
func (c Codec) contents(q *provider.Query) ([]content, error) {
	s := speech{codec: c, strict: strict(q), list: make([]content, 0, len(q.Transcript)+1)}
	s.opened = !q.Flipped && !s.strict
	transcript, native := q.Transcript, false
	switch {
	case s.strict:
		transcript = ordered(transcript)
	case q.Compat && !q.Flipped:
		transcript = heard(transcript)
	}
	for i := range transcript {
		entry := &transcript[i]
		if native && entry.Kind == conversation.ToolCall {
			continue // a part of the turn that was sent as a whole
		}
		raw, known := q.Native[entry.Index]
		if native = known && entry.Own(); !native {
			s.add(entry)
			continue
		}
		var err error
		if s.ids, err = callIDs(raw); err != nil {
			return nil, err
		}
		s.begin(0, roleModel, json.RawMessage(raw))
	}
	return s.list, nil
}

// heard leaves out what the original never sends: it keeps the session, and sends in each turn only
// the last text or the last run of results. Before the model's first turn it refuses more than one
// message, so that all of them stay.
func heard(transcript []conversation.Entry) []conversation.Entry {
	kept := make([]conversation.Entry, 0, len(transcript))
	begun, turn := false, 0 // whether the model has spoken, and where in kept the turn after that begins
	for _, entry := range transcript {
		joins := entry.Kind == conversation.Result && len(kept) > turn && kept[len(kept)-1].Kind == conversation.Result
		switch {
		case entry.Kind == conversation.System: // a later one is not sent
			continue
		case begun && !entry.Own() && !joins:
			kept = kept[:turn]
		}
		kept = append(kept, entry)
		if entry.Own() {
			begun, turn = true, len(kept)
		}
	}
	return kept
}

// ordered returns a transcript in which results stand in the order of their calls: without ids only
// that says which is whose.
func ordered(transcript []conversation.Entry) []conversation.Entry {
	cloned := false
	for start := 0; start < len(transcript); {
		calls := run(transcript[start:], conversation.ToolCall)
		results := run(transcript[start+calls:], conversation.Result)
		first := start + calls
		start = first + max(results, 1)
		if calls < 2 || results < 2 {
			continue
		}
		if !cloned {
			transcript, cloned = slices.Clone(transcript), true
		}
		place := make(map[string]int, calls)
		for i, entry := range transcript[first-calls : first] {
			place[entry.CallID()] = i - calls // below 0, which is the place of a result whose call is not known
		}
		slices.SortStableFunc(transcript[first:first+results], func(a, b conversation.Entry) int {
			return cmp.Compare(place[a.CallID()], place[b.CallID()])
		})
	}
	return transcript
}

// run returns how many entries of one kind a transcript begins with.
func run(transcript []conversation.Entry, kind conversation.Kind) int {
	n := slices.IndexFunc(transcript, func(e conversation.Entry) bool { return e.Kind != kind })
	if n < 0 {
		return len(transcript)
	}
	return n
}

// add translates an entry that is not known in the provider's own form.
func (s *speech) add(entry *conversation.Entry) {
	name, text := entry.Name, entry.Text
	if s.strict { // Google itself refuses empty names and texts
		name = cmp.Or(name, nameless)
		if entry.Kind == conversation.User {
			text = cmp.Or(text, blank)
		}
	}
	switch entry.Kind {
	case conversation.System:
	case conversation.User:
		s.say(entry.Kind, roleUser, textPart(text))
	case conversation.Assistant:
		if text != "" || !s.strict { // there is nothing to be said about an empty text
			s.say(entry.Kind, roleModel, textPart(text))
		}
	case conversation.ToolCall:
		s.ids = nil
		s.say(entry.Kind, roleModel, part{FunctionCall: &functionCall{Name: name, Args: json.RawMessage(entry.Object(false))}})
	case conversation.Result:
		answered := &functionResponse{Name: name, Response: map[string]any{"content": text}}
		if entry.RowID != nil && s.ids[*entry.RowID] { // sent only if the provider had given it to the call
			answered.ID = *entry.RowID
		}
		role := roleUser
		if s.codec.Vertex {
			role = roleTool
		}
		s.say(entry.Kind, role, part{FunctionResponse: answered})
	}
}

// say adds a part to the last content, or begins one with it.
func (s *speech) say(kind conversation.Kind, role string, p part) {
	if kind != s.open || kind != conversation.ToolCall && kind != conversation.Result {
		s.parts = []part{p}
		s.begin(kind, role, s.parts)
		return
	}
	s.parts = append(s.parts, p)
	s.list[len(s.list)-1].Parts = s.parts
}

// begin adds a content.
func (s *speech) begin(kind conversation.Kind, role string, parts any) {
	if role == roleModel && !s.opened {
		s.list = append(s.list, content{Role: roleUser, Parts: []part{textPart(opening)}})
	}
	s.open, s.opened = kind, true
	s.list = append(s.list, content{Role: role, Parts: parts})
}

// callIDs returns the ids that the provider itself gave to the calls of a turn.
func callIDs(raw []byte) (map[string]bool, error) {
	var parts []struct {
		FunctionCall struct {
			ID string `json:"id"`
		} `json:"functionCall"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, fmt.Errorf("recorded turn: %w", err)
	}
	var ids map[string]bool
	for _, p := range parts {
		if p.FunctionCall.ID != "" {
			if ids == nil {
				ids = make(map[string]bool)
			}
			ids[p.FunctionCall.ID] = true
		}
	}
	return ids, nil
}
