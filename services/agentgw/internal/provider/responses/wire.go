package responses

import (
	"encoding/json"
	"slices"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// Types of the Responses API, as far as they are sent or read:
// https://platform.openai.com/docs/api-reference/responses.

const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"

	typeMessage   = "message"
	typeCall      = "function_call"
	typeOutput    = "function_call_output"
	typeReasoning = "reasoning"
	typeFunction  = "function"
	typeSchema    = "json_schema"

	statusFailed     = "failed"
	statusCancelled  = "cancelled"
	statusInProgress = "in_progress"
	statusQueued     = "queued"
	statusIncomplete = "incomplete"

	includeReasoning = "reasoning.encrypted_content"
)

// request is the body of a request without its tools, a []tool.
type request struct {
	MaxOutputTokens int32     `json:"max_output_tokens,omitempty"`
	Store           bool      `json:"store"`
	Temperature     *float64  `json:"temperature,omitempty"`
	Include         []string  `json:"include,omitempty"`
	Input           []any     `json:"input"` // of *message, *call, *output and json.RawMessage
	Model           string    `json:"model,omitempty"`
	Reasoning       reasoning `json:"reasoning,omitzero"`
	Text            *text     `json:"text,omitempty"`
}

// text requests a text that follows a schema.
type text struct {
	Format format `json:"format"`
}

type format struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

type reasoning struct {
	Effort string `json:"effort,omitempty"`
}

// message is a text of the system, the user or the model.
type message struct {
	Content string `json:"content"`
	Role    string `json:"role"`
	Type    string `json:"type"`
}

type call struct {
	Arguments string `json:"arguments"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Type      string `json:"type"`
}

// output is what a call returned.
type output struct {
	Output string `json:"output"`
	CallID string `json:"call_id"`
	Type   string `json:"type"`
}

// tool is a tool's definition. Parameters are a raw JSON Schema. Strict would make every argument
// required.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// response is the body of an answer.
type response struct {
	Status     lenient.Word       `json:"status"`
	Output     *[]json.RawMessage `json:"output"`
	Error      json.RawMessage    `json:"error"`
	Incomplete *struct {
		Reason json.RawMessage `json:"reason"`
	} `json:"incomplete_details"`
	Usage json.RawMessage `json:"usage"`
}

var usageFields = lenient.UsageFields{
	Input: lenient.Field("input_tokens"), Cached: []lenient.Count{lenient.Field("input_tokens_details", "cached_tokens")},
	Output: lenient.Field("output_tokens"), Reasoning: lenient.Field("output_tokens_details", "reasoning_tokens"),
}

// The items of an output that are read.
type (
	responseCall struct {
		CallID    json.RawMessage `json:"call_id"`
		Name      json.RawMessage `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Status    json.RawMessage `json:"status"`
	}
	responseMessage struct {
		Content lenient.List[responsePart] `json:"content"`
	}
	responsePart struct {
		Text    json.RawMessage `json:"text"`
		Refusal json.RawMessage `json:"refusal"`
	}
	responseReasoning struct {
		Encrypted json.RawMessage `json:"encrypted_content"`
	}
)

// UnmarshalJSON implements json.Unmarshaler. Some servers send a text in place of a part with it.
func (p *responsePart) UnmarshalJSON(field []byte) error {
	if field[0] == '"' {
		*p = responsePart{Text: slices.Clone(field)}
		return nil
	}
	type plain responsePart
	return json.Unmarshal(field, (*plain)(p))
}
