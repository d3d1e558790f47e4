package anthropic

import (
	"encoding/json"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// Types of the Messages API, as far as they are sent or read:
// https://docs.anthropic.com/en/api/messages.

const (
	roleUser      = "user"
	roleAssistant = "assistant"

	typeText     = "text"
	typeUse      = "tool_use"
	typeResult   = "tool_result"
	typeThinking = "thinking"
	typeRedacted = "redacted_thinking"

	thinkingEnabled  = "enabled"
	thinkingAdaptive = "adaptive"

	stopMaxTokens     = "max_tokens"
	stopContextWindow = "model_context_window_exceeded"
	stopRefusal       = "refusal"
	stopToolUse       = "tool_use"
)

// request is the body of a request without its tools, a []tool. System is a text and not a list of
// blocks, because the original and other servers use a text.
type request struct {
	MaxTokens    int64        `json:"max_tokens"`
	Model        string       `json:"model,omitempty"`
	Temperature  *float64     `json:"temperature,omitempty"`
	Stop         []string     `json:"stop_sequences,omitempty"`
	OutputConfig outputConfig `json:"output_config,omitzero"`
	Thinking     thinking     `json:"thinking,omitzero"`
	System       *string      `json:"system,omitempty"`
	Messages     []message    `json:"messages"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

// thinking is enabled with a token budget, or adaptive without one.
type thinking struct {
	BudgetTokens int64  `json:"budget_tokens,omitempty"`
	Type         string `json:"type"`
}

// message is one turn. Content is a text, a []any of *toolUse and *toolResult, or json.RawMessage
// for a native turn.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// toolUse is a call.
type toolUse struct {
	ID    string          `json:"id"`
	Input json.RawMessage `json:"input"`
	Name  string          `json:"name"`
	Type  string          `json:"type"`
}

// toolResult is what a call returned.
type toolResult struct {
	ToolUseID string      `json:"tool_use_id"`
	IsError   bool        `json:"is_error"`
	Content   []textBlock `json:"content"`
	Type      string      `json:"type"`
}

type textBlock struct {
	Text string `json:"text"`
	Type string `json:"type"`
}

// tool is a tool's definition. InputSchema is a raw JSON Schema.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// response is the body of an answer.
type response struct {
	Content    json.RawMessage `json:"content"`
	StopReason lenient.Word    `json:"stop_reason"`
	// StopDetails say more about a refusal.
	StopDetails json.RawMessage `json:"stop_details"`
	Usage       json.RawMessage `json:"usage"`
}

// block is one block of an answer: a text, a call, or another type.
type block struct {
	Type  json.RawMessage `json:"type"`
	Text  json.RawMessage `json:"text"`
	ID    json.RawMessage `json:"id"`
	Name  json.RawMessage `json:"name"`
	Input json.RawMessage `json:"input"`
}

// usageFields are the token counts of an answer. Input tokens exclude those of the cache.
var usageFields = lenient.UsageFields{
	Input:  lenient.Count{{"input_tokens"}, {"cache_creation_input_tokens"}, {"cache_read_input_tokens"}},
	Cached: []lenient.Count{lenient.Field("cache_read_input_tokens")}, Output: lenient.Field("output_tokens"),
	Reasoning: lenient.Field("output_tokens_details", "thinking_tokens"),
}
