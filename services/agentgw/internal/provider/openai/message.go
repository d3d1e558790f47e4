package openai

import (
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// opening is the user's first text in a conversation that the model began.
const opening = "Hello."

// alternating returns the transcript of a simulated user in the order that the chat templates of
// many models demand: a user first, and texts of the two speakers in turn. An event stands in one
// text with the text before it.
func alternating(transcript []conversation.Entry) []conversation.Entry {
	list := make([]conversation.Entry, 0, len(transcript)+1)
	begun := false
	for _, entry := range transcript {
		if entry.Kind != conversation.System && !begun {
			if entry.FromModel() {
				list = append(list, conversation.Entry{Kind: conversation.User, Text: opening, Index: -1})
			}
			begun = true
		}
		isText := entry.Kind == conversation.User || entry.Kind == conversation.Assistant
		if last := len(list) - 1; isText && last >= 0 && list[last].Kind == entry.Kind {
			list[last].Text += "\n\n" + entry.Text
			continue
		}
		list = append(list, entry)
	}
	return list
}

// messages translates the transcript. Consecutive calls become one message.
func messages(q *provider.Query) []any {
	list := make([]any, 0, len(q.Transcript))
	var open *calling
	var turnNative native // of the turn that begins at first
	var first int32
	transcript := q.Transcript
	if q.Alternating {
		transcript = alternating(transcript)
	}
	for _, entry := range transcript {
		if entry.Kind != conversation.ToolCall {
			open = nil
		}
		switch entry.Kind {
		case conversation.System:
			list = append(list, &message{Content: entry.Text, Role: roleSystem})
		case conversation.User:
			list = append(list, &message{Content: entry.Text, Role: roleUser})
		case conversation.Assistant:
			list = append(list, &message{Content: entry.Text, Role: roleAssistant, reasoningFields: nativeOf(q, entry).reasoningFields})
		case conversation.Result:
			answered := &result{Role: roleTool, Content: entry.Text, ToolCallID: entry.ID}
			if entry.Name != "" {
				answered.Name = ToolName(q, entry)
			}
			list = append(list, answered)
		case conversation.ToolCall:
			if open == nil {
				turnNative, first = nativeOf(q, entry), entry.Index
				open = &calling{Role: roleAssistant, reasoningFields: turnNative.reasoningFields}
				list = append(list, open)
			}
			c := call{ID: entry.ID, Function: function{Name: ToolName(q, entry), Arguments: Arguments(q, entry)}, Type: typeFunction}
			open.ToolCalls = append(open.ToolCalls, turnNative.withExtras(entry.Index-first, c))
		}
	}
	return list
}
