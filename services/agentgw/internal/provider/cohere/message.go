package cohere

import (
	"cmp"
	"encoding/json"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

const (
	// blank stands for an empty text of somebody else, which the interface refuses.
	blank = " "
	// unnamed stands for an empty id, which a result could not name.
	unnamed = "None"
)

// messages translates a transcript. Consecutive calls are one message. A turn that is known in the
// provider's own form is sent in it.
func messages(q *provider.Query) []any {
	list := make([]any, 0, len(q.Transcript))
	var calling *message // the last message, while calls belong to it
	for i := 0; i < len(q.Transcript); i++ {
		entry := q.Transcript[i]
		if entry.Kind != conversation.ToolCall {
			calling = nil
		}
		if raw, known := q.Native[entry.Index]; known && entry.Own() {
			if n, ok := covers(raw, q.Transcript[i:]); ok {
				list = append(list, json.RawMessage(raw))
				calling = nil
				i += n - 1
				continue
			}
		}
		switch entry.Kind {
		case conversation.System:
			list = append(list, &message{Role: roleSystem, Content: said(entry.Text)})
		case conversation.User:
			list = append(list, &message{Role: roleUser, Content: said(entry.Text)})
		case conversation.Assistant:
			if entry.Text != "" { // nothing was said
				list = append(list, &message{Role: roleAssistant, Content: entry.Text})
			}
		case conversation.ToolCall:
			if calling == nil {
				calling = &message{Role: roleAssistant}
				list = append(list, calling)
			}
			calling.ToolCalls = append(calling.ToolCalls, call(entry, entry.Object(false)))
		case conversation.Result:
			if !called(q.Transcript[:i], entry) { // a result without a call is refused
				list = append(list, &message{Role: roleAssistant, ToolCalls: []toolCall{call(entry, noArguments)}})
			}
			list = append(list, result(entry))
		}
	}
	return list
}

// covers says whether a turn in its provider's form makes exactly the calls with which the rest of
// the transcript begins, and how many entries it stands for. Results name their calls' ids, so a
// turn whose ids were not usable as they were cannot be sent.
func covers(raw []byte, rest []conversation.Entry) (entries int, ok bool) {
	var turn struct {
		ToolCalls []struct {
			ID string `json:"id"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &turn); err != nil {
		return 0, false
	}
	made := 0
	for made < len(rest) && rest[made].Kind == conversation.ToolCall {
		if made >= len(turn.ToolCalls) || turn.ToolCalls[made].ID != callID(rest[made]) {
			return 0, false
		}
		made++
	}
	return max(made, 1), made == len(turn.ToolCalls)
}

// called says whether a result's call is in what came before it.
func called(before []conversation.Entry, result conversation.Entry) bool {
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
	d.Document.Data = said(entry.Text)
	return &message{Role: roleTool, ToolCallID: callID(entry), Content: []document{d}}
}

func callID(entry conversation.Entry) string { return cmp.Or(entry.CallID(), unnamed) }

func said(text string) string { return cmp.Or(text, blank) }
