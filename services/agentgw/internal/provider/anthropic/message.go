package anthropic

import (
	"encoding/json"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

const (
	// opening is the user's first message in a conversation that the model began. The interface
	// requires one.
	opening = "Hello."
	// placeholder replaces an empty text of another speaker, which the interface refuses.
	placeholder = "(nothing)"
)

// messages translates a transcript without its system texts. Consecutive calls become one message,
// and so do consecutive results. A turn with a native form is sent in it.
func messages(q *provider.Query, transcript []conversation.Entry) []message {
	list := make([]message, 0, len(transcript))
	say := func(role string, content any) {
		if q.PlaysUser && len(list) == 0 && role == roleAssistant {
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
			end() // entries on either side of it are not consecutive
			continue
		}
		if native && entry.Kind == conversation.ToolCall {
			continue // part of the native turn
		}
		native = false
		if entry.Kind != open {
			end()
		}
		if raw := q.Native[entry.Index]; len(raw) > 0 && entry.FromModel() {
			say(roleAssistant, json.RawMessage(raw))
			native = true
			continue
		}
		switch entry.Kind {
		case conversation.ToolCall, conversation.Result:
			open = entry.Kind
			blocks = append(blocks, blockOf(entry, strict(q)))
		case conversation.User:
			if strict(q) && blank(entry.Text) {
				entry.Text = placeholder
			}
			say(roleUser, entry.Text)
		case conversation.Assistant:
			if !strict(q) || !blank(entry.Text) { // omit an empty text
				say(roleAssistant, entry.Text)
			}
		case conversation.System:
		}
	}
	end()
	if len(list) == 0 && (q.PlaysUser || strict(q)) {
		say(roleUser, opening)
	}
	return list
}

// blockOf returns the block of a call or a result. Both carry the id of the message's column. A
// strict server takes no empty text, but takes a result without text unless it is an error.
func blockOf(entry conversation.Entry, strict bool) any {
	if entry.Kind == conversation.ToolCall {
		return &toolUse{ID: entry.CallID(), Input: json.RawMessage(entry.ArgumentsObject(false)), Name: entry.Name, Type: typeUse}
	}
	answer := &toolResult{ToolUseID: entry.CallID(), IsError: entry.Failed, Content: []textBlock{}, Type: typeResult}
	switch empty := strict && blank(entry.Text); {
	case !empty:
		answer.Content = append(answer.Content, textBlock{Text: entry.Text, Type: typeText})
	case entry.Failed:
		answer.Content = append(answer.Content, textBlock{Text: placeholder, Type: typeText})
	}
	return answer
}
