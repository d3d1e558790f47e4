package anthropic

import (
	"encoding/json"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

const (
	// opening begins a conversation in which the model spoke first; the interface wants a user's
	// message there.
	opening = "Hello."
	// unsaid stands for an empty text of somebody else, which the interface refuses.
	unsaid = "(nothing)"
)

// messages translates a transcript without its system texts. Consecutive calls are one message,
// consecutive results too. A turn that is known in the provider's own form is sent in it.
func messages(q *provider.Query, transcript []conversation.Entry) []message {
	list := make([]message, 0, len(transcript))
	say := func(role string, content any) {
		if q.Flipped && len(list) == 0 && role == roleAssistant {
			list = append(list, message{roleUser, opening})
		}
		list = append(list, message{role, content})
	}
	var blocks []any
	open := conversation.Kind(0)
	end := func() {
		switch open {
		case conversation.ToolCall:
			say(roleAssistant, blocks)
		case conversation.Result:
			say(roleUser, blocks)
		case conversation.System, conversation.User, conversation.Assistant:
		}
		blocks, open = nil, 0
	}
	native := false
	for _, entry := range transcript {
		if entry.Kind == conversation.System {
			end() // what stands on either side of it is not consecutive
			continue
		}
		if native && entry.Kind == conversation.ToolCall {
			continue // a part of the turn that was sent as a whole
		}
		native = false
		if entry.Kind != open {
			end()
		}
		if raw := q.Native[entry.Index]; len(raw) > 0 && entry.Own() {
			say(roleAssistant, json.RawMessage(raw))
			native = true
			continue
		}
		switch entry.Kind {
		case conversation.ToolCall, conversation.Result:
			open = entry.Kind
			blocks = append(blocks, translated(entry, strict(q)))
		case conversation.User:
			if strict(q) && blank(entry.Text) {
				entry.Text = unsaid
			}
			say(roleUser, entry.Text)
		case conversation.Assistant:
			if !strict(q) || !blank(entry.Text) { // there is nothing to be said about an empty text
				say(roleAssistant, entry.Text)
			}
		case conversation.System:
		}
	}
	end()
	if len(list) == 0 && (q.Flipped || strict(q)) {
		say(roleUser, opening)
	}
	return list
}

// translated returns a call or a result. Both carry the id of the message's own column. A strict
// server takes no empty text, but a result without one, unless it is an error.
func translated(entry conversation.Entry, strict bool) any {
	if entry.Kind == conversation.ToolCall {
		return &toolUse{ID: entry.CallID(), Input: json.RawMessage(entry.Object(false)), Name: entry.Name, Type: typeUse}
	}
	answer := &toolResult{ToolUseID: entry.CallID(), IsError: entry.Failed, Content: []textBlock{}, Type: typeResult}
	switch empty := strict && blank(entry.Text); {
	case !empty:
		answer.Content = append(answer.Content, textBlock{Text: entry.Text, Type: typeText})
	case entry.Failed:
		answer.Content = append(answer.Content, textBlock{Text: unsaid, Type: typeText})
	}
	return answer
}
