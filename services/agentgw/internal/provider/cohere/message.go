package cohere

import (
	"cmp"
	"encoding/json"

	cohere "github.com/cohere-ai/cohere-go/v2"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"

	typeDocument = "document"

	// blank stands for an empty text of somebody else, which the interface refuses.
	blank = " "
	// unnamed stands for an empty id, which a result could not name.
	unnamed = "None"
)

// The messages of the SDK with their roles. Its union of them, ChatMessageV2, writes each message
// three times over and cannot hold a turn in its provider's own form.
type (
	systemMessage struct {
		Role string `json:"role"`
		cohere.SystemMessageV2
	}
	userMessage struct {
		Role string `json:"role"`
		cohere.UserMessageV2
	}
	assistantMessage struct {
		Role string `json:"role"`
		cohere.AssistantMessage
	}
	toolMessage struct {
		Role string `json:"role"`
		cohere.ToolMessageV2

		Content []document `json:"content"`
	}
)

// document is the SDK's ToolContent, whose documents are maps only: a result is any text, which the
// interface takes as data too.
type document struct {
	Type     string `json:"type"`
	Document struct {
		Data string `json:"data"`
	} `json:"document"`
}

// messages translates a transcript. Consecutive calls are one message. A turn that is known in the
// provider's own form is sent in it.
func messages(q *provider.Query) []any {
	list := make([]any, 0, len(q.Transcript))
	var calling *assistantMessage // the last message, while calls belong to it
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
			content := &cohere.SystemMessageV2Content{String: said(entry.Text)}
			list = append(list, &systemMessage{roleSystem, cohere.SystemMessageV2{Content: content}})
		case conversation.User:
			content := &cohere.UserMessageV2Content{String: said(entry.Text)}
			list = append(list, &userMessage{roleUser, cohere.UserMessageV2{Content: content}})
		case conversation.Assistant:
			if entry.Text != "" { // nothing was said
				content := &cohere.AssistantMessageV2Content{String: entry.Text}
				list = append(list, &assistantMessage{roleAssistant, cohere.AssistantMessage{Content: content}})
			}
		case conversation.ToolCall:
			if calling == nil {
				calling = &assistantMessage{Role: roleAssistant}
				list = append(list, calling)
			}
			calling.ToolCalls = append(calling.ToolCalls, call(entry, entry.Object(false)))
		case conversation.Result:
			if !called(q.Transcript[:i], entry) { // a result without a call is refused
				asked := cohere.AssistantMessage{ToolCalls: []*cohere.ToolCallV2{call(entry, noArguments)}}
				list = append(list, &assistantMessage{roleAssistant, asked})
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

func call(entry conversation.Entry, arguments string) *cohere.ToolCallV2 {
	return &cohere.ToolCallV2{
		Id: cohere.String(callID(entry)), Type: cohere.String(typeFunction),
		Function: &cohere.ToolCallV2Function{Name: cohere.String(entry.Name), Arguments: cohere.String(arguments)},
	}
}

func result(entry conversation.Entry) *toolMessage {
	d := document{Type: typeDocument}
	d.Document.Data = said(entry.Text)
	return &toolMessage{Role: roleTool, ToolMessageV2: cohere.ToolMessageV2{ToolCallId: callID(entry)}, Content: []document{d}}
}

func callID(entry conversation.Entry) string { return cmp.Or(entry.CallID(), unnamed) }

func said(text string) string { return cmp.Or(text, blank) }
