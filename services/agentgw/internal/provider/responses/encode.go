// Package responses is the wire format of OpenAI's responses. Nothing is stored at the provider: each request holds all of the conversation,
// with the reasoning of earlier turns in its encrypted form. It is pure.
package responses

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	typeMessage   = "message"
	typeCall      = "function_call"
	typeOutput    = "function_call_output"
	typeReasoning = "reasoning"
	typeFunction  = "function"

	// encrypted asks for reasoning in a form that can be sent back; models without reasoning refuse it.
	encrypted = "reasoning.encrypted_content"
)

type request struct {
	Model           string     `json:"model"`
	Input           []any      `json:"input"` // items, or raw ones as an earlier answer had them
	Tools           []tool     `json:"tools,omitempty"`
	Store           bool       `json:"store"`
	Include         []string   `json:"include,omitempty"`
	Reasoning       *reasoning `json:"reasoning,omitempty"`
	Temperature     *float64   `json:"temperature,omitempty"`
	MaxOutputTokens int32      `json:"max_output_tokens,omitempty"`
}

type reasoning struct {
	Effort string `json:"effort"`
}

type message struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content string `json:"content"`
}

type call struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type output struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

// tool is not strict: strictness would make every argument required.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// Codec implements provider.Codec.
type Codec struct{}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	items, err := input(q)
	if err != nil {
		return nil, err
	}
	body := request{
		Model: q.Model.GetModel(), Input: items, Tools: tools(q.Tools),
		Temperature: openai.Temperature(q.Model), MaxOutputTokens: q.Model.GetMaxTokens(),
	}
	if openai.Reasons(q.Model) {
		body.Include = []string{encrypted}
	}
	if effort := q.Model.GetReasoningEffort(); effort != "" {
		body.Reasoning = &reasoning{Effort: effort}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	return &provider.Request{Path: "/responses", Header: http.Header{}, Body: raw}, nil
}

// input translates a transcript. A turn that is known in the provider's own form is sent in it.
func input(q *provider.Query) ([]any, error) {
	items := make([]any, 0, len(q.Transcript))
	native := false
	for _, entry := range q.Transcript {
		if native && entry.Kind == conversation.Calling {
			continue // a part of the turn that was sent as a whole
		}
		native = false
		if raw, known := q.Native[entry.Index]; known && entry.Own() {
			var own []json.RawMessage
			if err := json.Unmarshal(raw, &own); err != nil {
				return nil, fmt.Errorf("recorded turn: %w", err)
			}
			for _, item := range own {
				items = append(items, item)
			}
			native = true
			continue
		}
		switch entry.Kind {
		case conversation.System:
			items = append(items, message{typeMessage, "system", entry.Text})
		case conversation.User:
			items = append(items, message{typeMessage, "user", entry.Text})
		case conversation.Assistant:
			items = append(items, message{typeMessage, "assistant", entry.Text})
		case conversation.Calling:
			items = append(items, call{typeCall, entry.CallID(), entry.Name, entry.Written()})
		case conversation.Result:
			items = append(items, output{typeOutput, entry.CallID(), entry.Text})
		}
	}
	return items, nil
}

func tools(list []*worldv1.Tool) []tool {
	translated := make([]tool, len(list))
	for i, t := range list {
		translated[i] = tool{
			Type: typeFunction, Name: t.GetName(), Description: t.GetDescription(), Parameters: json.RawMessage(t.GetParametersJson()),
		}
	}
	return translated
}
