package openai

import (
	sdk "github.com/openai/openai-go/v3"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// The SDK's fields without its MarshalJSON: each of those, of which a call alone has six, writes
// its value into a buffer of its own, which is most of the time. What stands beside them below
// replaces those whose types have one.
type (
	systemFields    sdk.ChatCompletionSystemMessageParam
	userFields      sdk.ChatCompletionUserMessageParam
	assistantFields sdk.ChatCompletionAssistantMessageParam
	callFields      sdk.ChatCompletionMessageFunctionToolCallParam
	functionFields  sdk.ChatCompletionMessageFunctionToolCallFunctionParam
)

type system struct {
	Content string `json:"content"`
	systemFields
}

type user struct {
	Content string `json:"content"`
	userFields
}

// assistant is what the model said: a text or calls.
type assistant struct {
	Content   string `json:"content"`
	ToolCalls []any  `json:"tool_calls,omitempty"` // of *call and *extended
	assistantFields
	thought
}

type call struct {
	ID       string         `json:"id"`
	Function functionFields `json:"function"`
	callFields
}

// result is a tool's result. The SDK's has no name, which the original sends.
type result struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id"`
	Name       string `json:"name,omitempty"`
}

// messages translates the transcript. Consecutive calls are one message.
func messages(q *provider.Query) []any {
	list := make([]any, 0, len(q.Transcript))
	var calling *assistant
	var kept native // of the turn whose first call has the index
	var first int32
	for _, entry := range q.Transcript {
		if entry.Kind != conversation.ToolCall {
			calling = nil
		}
		switch entry.Kind {
		case conversation.System:
			list = append(list, &system{Content: entry.Text})
		case conversation.User:
			list = append(list, &user{Content: entry.Text})
		case conversation.Assistant:
			list = append(list, &assistant{Content: entry.Text})
		case conversation.Result:
			answered := &result{Role: "tool", Content: entry.Text, ToolCallID: entry.ID}
			if entry.Name != "" {
				answered.Name = Name(q, entry)
			}
			list = append(list, answered)
		case conversation.ToolCall:
			if calling == nil {
				kept, first = past(q, entry), entry.Index
				calling = &assistant{thought: kept.thought}
				list = append(list, calling)
			}
			made := call{ID: entry.ID, Function: functionFields{Name: Name(q, entry), Arguments: Arguments(q, entry)}}
			calling.ToolCalls = append(calling.ToolCalls, kept.extend(entry.Index-first, made))
		}
	}
	return list
}
