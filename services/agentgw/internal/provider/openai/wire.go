package openai

import (
	"encoding/json"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// Types of Chat Completions, as far as they are sent or read:
// https://platform.openai.com/docs/api-reference/chat. Fields on which servers disagree are raw
// JSON: a field of another type makes an answer invalid only if it is needed.

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
	Stop                []string `json:"stop,omitempty"`
	Seed                *int64   `json:"seed,omitempty"`
	RandomSeed          *int64   `json:"random_seed,omitempty"` // Mistral's name of it

	ResponseFormat *responseFormat `json:"response_format,omitempty"`
}

// responseFormat requests a text that follows a schema.
type responseFormat struct {
	Type   string      `json:"type"`
	Schema namedSchema `json:"json_schema"`
}

type namedSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// message is a text of the system, the user or the model, whose reasoning it carries.
type message struct {
	Content string `json:"content"`
	Role    string `json:"role"`
	reasoningFields
}

// calling is an assistant message with calls.
type calling struct {
	Content   string `json:"content"`
	ToolCalls []any  `json:"tool_calls"` // of *call and *extended
	Role      string `json:"role"`
	reasoningFields
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

// result is a tool's result. Name is not part of OpenAI's interface, but the original sends it.
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

// definition describes a tool. Parameters are a raw JSON Schema.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// reasoningFields are the model's reasoning in the fields of compatible servers, which want it
// back with the text or the calls that follow from it. DeepSeek, Kimi and older vLLM use Content,
// vLLM Reasoning, and OpenRouter Details with a copy in Reasoning. OpenAI has none.
type reasoningFields struct {
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
	// Filter are the results of Azure's filter.
	Filter json.RawMessage `json:"content_filter_results"`
}

// responseMessage is the message of an answer.
type responseMessage struct {
	Content json.RawMessage `json:"content"`
	Refusal lenient.Word    `json:"refusal"`
	// ToolCalls are the fields of each call. Compatible servers add some of their own.
	ToolCalls    lenient.List[map[string]json.RawMessage] `json:"tool_calls"`
	FunctionCall json.RawMessage                          `json:"function_call"` // the legacy form of tool_calls
	reasoningFields
}

type responseFunction struct {
	Name      json.RawMessage `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// UsageFields are the token counts of chat completions and of completions. Cached tokens have names
// of their own at Moonshot and at DeepSeek.
var UsageFields = lenient.UsageFields{
	Input:  lenient.Field("prompt_tokens"),
	Cached: []lenient.Count{lenient.Field("prompt_tokens_details", "cached_tokens"), lenient.Field("cached_tokens"), lenient.Field("prompt_cache_hit_tokens")},
	Output: lenient.Field("completion_tokens"), Reasoning: lenient.Field("completion_tokens_details", "reasoning_tokens"),
	Total: lenient.Field("total_tokens"),
}
