package openai

import (
	"encoding/json"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// These are the types of chat completions, as far as they are sent or read:
// https://platform.openai.com/docs/api-reference/chat. What servers disagree about is read as raw
// JSON: a field of another kind makes an answer unreadable only if it is needed.

const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"

	typeFunction = "function"
	typeSchema   = "json_schema"
)

// request is the body of a request without its tools, a []tool.
type request struct {
	Messages            []any    `json:"messages"` // of *message, *calling and *result
	Model               string   `json:"model,omitempty"`
	MaxCompletionTokens int32    `json:"max_completion_tokens,omitempty"`
	MaxTokens           int32    `json:"max_tokens,omitempty"`
	Temperature         *float64 `json:"temperature,omitempty"`
	ReasoningEffort     string   `json:"reasoning_effort,omitempty"`
	Seed                *int64   `json:"seed,omitempty"`

	ResponseFormat *responseFormat `json:"response_format,omitempty"`
}

// responseFormat asks for a text that follows a schema.
type responseFormat struct {
	Type   string      `json:"type"`
	Schema namedSchema `json:"json_schema"`
}

type namedSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// message is a text of the system, the user or the model.
type message struct {
	Content string `json:"content"`
	Role    string `json:"role"`
}

// calling is a message of the model with calls.
type calling struct {
	Content   string `json:"content"`
	ToolCalls []any  `json:"tool_calls"` // of *call and *extended
	Role      string `json:"role"`
	thought
}

type call struct {
	ID       string   `json:"id"`
	Function function `json:"function"`
	Type     string   `json:"type"`
}

type function struct {
	Arguments string `json:"arguments"`
	Name      string `json:"name"`
}

// result is a tool's result. Name is not in OpenAI's interface; the original sends it.
type result struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id"`
	Name       string `json:"name,omitempty"`
}

type tool struct {
	Type     string     `json:"type"`
	Function definition `json:"function"`
}

// definition describes a tool. Parameters are a JSON Schema as it is written.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// thought is what a model thought, in the fields in which compatible servers give it out. They want
// it back with the calls that it led to: DeepSeek, Kimi and older vLLM the first, vLLM the second,
// OpenRouter the third, of which its second is a copy. OpenAI has none.
type thought struct {
	Content   json.RawMessage `json:"reasoning_content,omitempty"`
	Reasoning json.RawMessage `json:"reasoning,omitempty"`
	Details   json.RawMessage `json:"reasoning_details,omitempty"`
}

// completion is the body of an answer.
type completion struct {
	Choices *[]choice       `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Message      json.RawMessage `json:"message"`
	FinishReason json.RawMessage `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
}

// responseMessage is the message of an answer.
type responseMessage struct {
	Content      json.RawMessage `json:"content"`
	Refusal      json.RawMessage `json:"refusal"`
	ToolCalls    json.RawMessage `json:"tool_calls"`
	FunctionCall json.RawMessage `json:"function_call"` // of before tool_calls; servers of that age have it
	thought
}

type responseCall struct {
	ID       json.RawMessage `json:"id"`
	Function json.RawMessage `json:"function"`
}

type responseFunction struct {
	Name      json.RawMessage `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

var usageFields = provider.UsageFields{
	Input: []string{"prompt_tokens"}, Cached: []string{"prompt_tokens_details", "cached_tokens"},
	Output: []string{"completion_tokens"}, Reasoning: []string{"completion_tokens_details", "reasoning_tokens"},
}
