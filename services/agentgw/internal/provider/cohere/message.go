package cohere

import (
	"cmp"
	"encoding/json"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

const (
	// blank replaces an empty text of another speaker, which the interface refuses.
	blank = " "
	// unnamed replaces an empty id, which a result could not refer to.
	unnamed = "None"
	// noArguments are the arguments of a call without any.
	noArguments = "{}"
)

// messages translates a transcript. Consecutive calls become one message. A turn with a native form
// is sent in it.
func messages(q *provider.Query) []any {
	list := make([]any, 0, len(q.Transcript))
	var calling *message // the last message while further calls belong to it
	for i := 0; i < len(q.Transcript); i++ {
		entry := q.Transcript[i]
		if entry.Kind != conversation.ToolCall {
			calling = nil
		}
		if raw, ok := q.Native[entry.Index]; ok && entry.FromModel() {
			if n, ok := matchCalls(raw, q.Transcript[i:]); ok {
				list = append(list, json.RawMessage(raw))
				calling = nil
				i += n - 1
				continue
			}
		}
		switch entry.Kind {
		case conversation.System:
			list = append(list, &message{Role: roleSystem, Content: nonEmpty(entry.Text)})
		case conversation.User:
			list = append(list, &message{Role: roleUser, Content: nonEmpty(entry.Text)})
		case conversation.Assistant:
			if entry.Text != "" { // omit an empty text
				list = append(list, &message{Role: roleAssistant, Content: entry.Text})
			}
		case conversation.ToolCall:
			if calling == nil {
				calling = &message{Role: roleAssistant}
				list = append(list, calling)
			}
			calling.ToolCalls = append(calling.ToolCalls, call(entry, entry.ArgumentsObject(false)))
		case conversation.Result:
			if !hasCall(q.Transcript[:i], entry) { // the interface refuses a result without a call
				list = append(list, &message{Role: roleAssistant, ToolCalls: []toolCall{call(entry, noArguments)}})
			}
			list = append(list, result(entry))
		}
	}
	return list
}

// matchCalls reports whether a native turn makes exactly the calls that the rest of the transcript
// begins with, and how many entries it replaces. Results refer to the ids of their calls, so a turn
// with replaced ids cannot be sent.
func matchCalls(raw []byte, rest []conversation.Entry) (entries int, ok bool) {
	var turn struct {
		ToolCalls []struct {
			ID string `json:"id"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &turn); err != nil {
		return 0, false
	}
	count := 0
	for count < len(rest) && rest[count].Kind == conversation.ToolCall {
		if count >= len(turn.ToolCalls) || turn.ToolCalls[count].ID != callID(rest[count]) {
			return 0, false
		}
		count++
	}
	return max(count, 1), count == len(turn.ToolCalls)
}

// hasCall reports whether the entries before a result contain its call.
func hasCall(before []conversation.Entry, result conversation.Entry) bool {
	for i := len(before) - 1; i >= 0; i-- {
		if before[i].Kind == conversation.ToolCall && callID(before[i]) == callID(result) {
			return true
		}
	}
	return false
}

func call(entry conversation.Entry, arguments string) toolCall {
	return toolCall{ID: callID(entry), Type: typeFunction, Function: function{Name: entry.Name, Arguments: arguments}}
}

func result(entry conversation.Entry) *message {
	d := document{Type: typeDocument}
	d.Document.Data = nonEmpty(entry.Text)
	return &message{Role: roleTool, ToolCallID: callID(entry), Content: []document{d}}
}

func callID(entry conversation.Entry) string { return cmp.Or(entry.CallID(), unnamed) }

func nonEmpty(text string) string { return cmp.Or(text, blank) }
