package cohere

import (
	"encoding/json"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// Types of the Chat API, version 2, as far as they are sent or read:
// https://docs.cohere.com/reference/chat. A field that is not read cannot make an answer invalid.

const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"

	typeText     = "text"
	typeThinking = "thinking"
	typeDocument = "document"
	typeFunction = "function"

	thinkingEnabled = "enabled"

	finishComplete     = "COMPLETE"
	finishStopSequence = "STOP_SEQUENCE"
	finishMaxTokens    = "MAX_TOKENS"
	finishToolCall     = "TOOL_CALL"
)

// request is the body of a request.
type request struct {
	Model       string    `json:"model"`
	MaxTokens   int32     `json:"max_tokens,omitempty"`
	Temperature *float64  `json:"temperature,omitempty"`
	Thinking    *thinking `json:"thinking,omitempty"`
	Stop        []string  `json:"stop_sequences,omitempty"`
	Seed        *int64    `json:"seed,omitempty"`
	// Messages are *message, or json.RawMessage for turns in the provider's own form.
	Messages []any  `json:"messages"`
	Tools    []tool `json:"tools,omitempty"`
	Stream   bool   `json:"stream"`
}

type thinking struct {
	Type string `json:"type"`
	// TokenBudget bounds the tokens of reasoning.
	TokenBudget int32 `json:"token_budget"`
}

// message is a message of any role. ToolCalls are an assistant's, ToolCallID is a tool's.
type message struct {
	Role       string     `json:"role"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	// Content is a string, or []document from a tool.
	Content any `json:"content,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

// function names the called tool. Arguments are JSON text.
type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// document is one block of a tool's result.
type document struct {
	Type     string `json:"type"`
	Document struct {
		Data string `json:"data"`
	} `json:"document"`
}

type tool struct {
	Type     string     `json:"type"`
	Function definition `json:"function"`
}

// definition describes a tool. Parameters are a raw JSON Schema.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// response is the body of an answer.
type response struct {
	FinishReason lenient.Word `json:"finish_reason"`
	// Message is a responseMessage. It stays raw because later requests may carry parts of it
	// verbatim.
	Message *json.RawMessage `json:"message"`
	Usage   json.RawMessage  `json:"usage"`
}

type responseMessage struct {
	ToolCalls lenient.List[responseCall] `json:"tool_calls"`
	ToolPlan  lenient.Word               `json:"tool_plan"`
	Content   lenient.List[part]         `json:"content"`
}

// responseCall is a call, any field of which may be missing. An empty id is not a missing one.
type responseCall struct {
	ID       json.RawMessage  `json:"id"`
	Function responseFunction `json:"function"`
}

type responseFunction struct {
	Name      *string         `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// part is one block of an answer's content.
type part struct {
	Type     string  `json:"type"`
	Text     *string `json:"text"`
	Thinking string  `json:"thinking"`
}

// usageFields are the token counts of an answer, and billedFields those that are charged.
var (
	usageFields = lenient.UsageFields{
		Input: lenient.Field("tokens", "input_tokens"), Cached: []lenient.Count{lenient.Field("cached_tokens")}, Output: lenient.Field("tokens", "output_tokens"),
	}
	billedFields = lenient.UsageFields{
		Input: lenient.Field("billed_units", "input_tokens"), Cached: []lenient.Count{lenient.Field("cached_tokens")}, Output: lenient.Field("billed_units", "output_tokens"),
	}
)

// nativeMessage is the part of a message that later requests carry. Its raw elements keep fields
// that are not read here. Empty lists are omitted.
type nativeMessage struct {
	Role      string                        `json:"role"`
	Content   lenient.List[json.RawMessage] `json:"content,omitempty"`
	ToolPlan  lenient.Word                  `json:"tool_plan,omitempty"`
	ToolCalls lenient.List[json.RawMessage] `json:"tool_calls,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler. Some servers send a text in place of a part with it.
func (p *part) UnmarshalJSON(field []byte) error {
	var text string
	if json.Unmarshal(field, &text) == nil {
		*p = part{Type: typeText, Text: &text}
		return nil
	}
	type plain part
	return json.Unmarshal(field, (*plain)(p))
}
