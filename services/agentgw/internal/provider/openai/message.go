package openai

import (
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// messages translates the transcript. Consecutive calls become one message.
func messages(q *provider.Query) []any {
	list := make([]any, 0, len(q.Transcript))
	var open *calling
	var turnNative native // of the turn that begins at first
	var first int32
	for _, entry := range q.Transcript {
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
