package google

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

const (
	// opening is the user's first text in a conversation that the model began. The interface requires
	// one.
	opening = "Hello."
	// blank replaces an empty text of another speaker, which the interface refuses.
	blank = " "
	// unnamed replaces an empty tool name, which the interface refuses.
	unnamed = "unnamed"
)

func textPart(text string) part { return part{Text: &text} }

// system returns the leading system texts, one part each. Later ones are not sent, as in the
// original. The exception is a simulated user, whose instruction follows its demonstrations; the
// original has no demonstrations there.
func system(q *provider.Query) *content {
	var parts []part
	for _, entry := range q.Transcript {
		if entry.Kind != conversation.System {
			if q.PlaysUser {
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

// contentBuilder collects the contents of a request.
type contentBuilder struct {
	codec          Codec
	strict, opened bool
	list           []content
	// open is the kind of the last content, and parts are its parts. Further calls and results of the
	// kind join them.
	open  conversation.Kind
	parts []part
	// ids are the provider's own ids of the last turn's calls.
	ids map[string]bool
}

// contents translates a transcript without its system texts. Consecutive calls become one content,
// and so do consecutive results. A turn with a native form is sent in it.
func (c Codec) contents(q *provider.Query) ([]content, error) {
	s := contentBuilder{codec: c, strict: strict(q), list: make([]content, 0, len(q.Transcript)+1)}
	s.opened = !q.PlaysUser && !s.strict
	transcript, native := q.Transcript, false
	switch {
	case s.strict:
		transcript = orderResults(transcript)
	case q.Compat && !q.PlaysUser:
		transcript = sessionEntries(transcript)
	}
	for i := range transcript {
		entry := &transcript[i]
		if native && entry.Kind == conversation.ToolCall {
			continue // part of the native turn
		}
		raw, ok := q.Native[entry.Index]
		if native = ok && entry.FromModel(); !native {
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

// sessionEntries returns the entries that the original sends. It keeps a session, and sends in each
// turn only the last text or the last run of results, here with the events after it. It refuses
// more than one message before the model's first turn, so all of those stay.
func sessionEntries(transcript []conversation.Entry) []conversation.Entry {
	entries := make([]conversation.Entry, 0, len(transcript))
	hasSpoken, turn := false, 0 // whether the model has spoken, and the index in entries after its last turn
	for _, entry := range transcript {
		joins := len(entries) > turn && (entry.Notification != "" || entry.Kind == conversation.Result && entries[len(entries)-1].Kind == conversation.Result)
		switch {
		case entry.Kind == conversation.System: // system has the leading ones; later ones are not sent
			continue
		case hasSpoken && !entry.FromModel() && !joins:
			entries = entries[:turn]
		}
		entries = append(entries, entry)
		if entry.FromModel() {
			hasSpoken, turn = true, len(entries)
		}
	}
	return entries
}

// orderResults returns a transcript whose results follow the order of their calls. Without ids only
// the order matches them.
func orderResults(transcript []conversation.Entry) []conversation.Entry {
	cloned := false
	for start := 0; start < len(transcript); {
		calls := runLength(transcript[start:], conversation.ToolCall)
		results := runLength(transcript[start+calls:], conversation.Result)
		first := start + calls
		start = first + max(results, 1)
		if calls < 2 || results < 2 {
			continue
		}
		if !cloned {
			transcript, cloned = slices.Clone(transcript), true
		}
		index := make(map[string]int, calls)
		for i, entry := range transcript[first-calls : first] {
			index[entry.CallID()] = i - calls // negative: results of unknown calls, at 0, come last
		}
		slices.SortStableFunc(transcript[first:first+results], func(a, b conversation.Entry) int {
			return cmp.Compare(index[a.CallID()], index[b.CallID()])
		})
	}
	return transcript
}

// runLength returns the number of leading entries of one kind.
func runLength(transcript []conversation.Entry, kind conversation.Kind) int {
	n := slices.IndexFunc(transcript, func(e conversation.Entry) bool { return e.Kind != kind })
	if n < 0 {
		return len(transcript)
	}
	return n
}

// add translates an entry without native form.
func (s *contentBuilder) add(entry *conversation.Entry) {
	name, text := entry.Name, entry.Text
	if s.strict { // Google itself refuses empty names and texts
		name = cmp.Or(name, unnamed)
		if entry.Kind == conversation.User {
			text = cmp.Or(text, blank)
		}
	}
	switch entry.Kind {
	case conversation.System:
	case conversation.User:
		s.say(entry.Kind, roleUser, textPart(text))
	case conversation.Assistant:
		if text != "" || !s.strict { // omit an empty text
			s.say(entry.Kind, roleModel, textPart(text))
		}
	case conversation.ToolCall:
		s.ids = nil
		s.say(entry.Kind, roleModel, part{FunctionCall: &functionCall{Name: name, Args: json.RawMessage(entry.ArgumentsObject(false))}})
	case conversation.Result:
		answered := &functionResponse{Name: name, Response: map[string]any{"content": text}}
		if entry.RowID != nil && s.ids[*entry.RowID] { // only ids of the provider are sent
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
func (s *contentBuilder) say(kind conversation.Kind, role string, p part) {
	if kind != s.open || kind != conversation.ToolCall && kind != conversation.Result {
		s.parts = []part{p}
		s.begin(kind, role, s.parts)
		return
	}
	s.parts = append(s.parts, p)
	s.list[len(s.list)-1].Parts = s.parts
}

// begin adds a content.
func (s *contentBuilder) begin(kind conversation.Kind, role string, parts any) {
	if role == roleModel && !s.opened {
		s.list = append(s.list, content{Role: roleUser, Parts: []part{textPart(opening)}})
	}
	s.open, s.opened = kind, true
	s.list = append(s.list, content{Role: role, Parts: parts})
}

// callIDs returns the ids in the calls of a native turn.
func callIDs(raw []byte) (map[string]bool, error) {
	var parts []struct {
		FunctionCall struct {
			ID lenient.ID `json:"id"`
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
			ids[string(p.FunctionCall.ID)] = true
		}
	}
	return ids, nil
}
