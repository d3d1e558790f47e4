package agent

import (
	"cmp"
	"context"
	"encoding/json"
)

// ChatMessage is a message of OpenAI's Chat Completions API, ready for encoding/json.
type ChatMessage struct {
	// Role is system, user, assistant or tool.
	Role string `json:"role"`
	// Content is the text.
	Content string `json:"content"`
	// ToolCalls are the calls of an assistant message.
	ToolCalls []ChatToolCall `json:"tool_calls,omitempty"`
	// ToolCallID is the id of the call that a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// Name is the tool of a tool message.
	Name string `json:"name,omitempty"`
}

// ChatToolCall is a call in an assistant message.
type ChatToolCall struct {
	ID string `json:"id"`
	// Type is "function".
	Type     string       `json:"type"`
	Function ChatFunction `json:"function"`
}

// ChatFunction is a called function.
type ChatFunction struct {
	Name string `json:"name"`
	// Arguments is JSON text as the model wrote it. Empty means {}.
	Arguments string `json:"arguments"`
}

// ChatTool is a tool of OpenAI's Chat Completions API.
type ChatTool struct {
	// Type is "function".
	Type     string         `json:"type"`
	Function ChatDefinition `json:"function"`
}

// ChatDefinition defines a tool.
type ChatDefinition struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is a JSON Schema.
	Parameters json.RawMessage `json:"parameters"`
}

// ChatFunc adapts a chat completion function to Agent: messages and tools in, the assistant's
// message out. It sees one turn at a time. ToolSandbox executes the calls, and the results come
// with the next turn. It must be safe for concurrent use.
type ChatFunc func(ctx context.Context, messages []ChatMessage, tools []ChatTool) (ChatMessage, error)

// Act implements Agent.
func (f ChatFunc) Act(ctx context.Context, c *Conversation) (Reply, error) {
	messages := make([]ChatMessage, len(c.Messages))
	for i, m := range c.Messages {
		messages[i] = chatMessage(m)
	}
	tools := make([]ChatTool, len(c.Tools))
	for i, tool := range c.Tools {
		tools[i] = ChatTool{Type: "function", Function: ChatDefinition(tool)}
	}
	answer, err := f(ctx, messages, tools)
	if err != nil {
		return Reply{}, err
	}
	if len(answer.ToolCalls) == 0 {
		return Say(answer.Content), nil
	}
	calls := make([]ToolCall, len(answer.ToolCalls))
	for i, call := range answer.ToolCalls {
		calls[i] = ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: json.RawMessage(call.Function.Arguments)}
	}
	return Calls(calls...), nil
}

// notificationPrefix begins a notification as chat models are shown it: as a text of the user's.
const notificationPrefix = "[Notification on the phone] "

func chatMessage(m Message) ChatMessage {
	switch m.Speaker {
	case ToolResult:
		return ChatMessage{Role: "tool", Content: m.Text, ToolCallID: m.CallID, Name: m.ToolName}
	case Assistant:
		message := ChatMessage{Role: "assistant", Content: cmp.Or(m.Code, m.Text)}
		for _, call := range m.Calls {
			function := ChatFunction{Name: call.Name, Arguments: string(call.Arguments)}
			message.ToolCalls = append(message.ToolCalls, ChatToolCall{ID: call.ID, Type: "function", Function: function})
		}
		return message
	case Notification:
		return ChatMessage{Role: string(User), Content: notificationPrefix + m.Text}
	case System, User:
		return ChatMessage{Role: string(m.Speaker), Content: m.Text}
	default:
		return ChatMessage{Role: string(User), Content: m.Text}
	}
}
