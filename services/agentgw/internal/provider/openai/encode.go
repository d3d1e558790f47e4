// Package openai is the wire format of OpenAI's chat completions, which many other servers speak too. It is pure.
package openai

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// BaseURL is OpenAI's own address.
const BaseURL = "https://api.openai.com/v1"

const function = "function"

// request is the body of a request. Tools is a pointer because an empty list and none are different things.
type request struct {
	Messages    []message `json:"messages"`
	Model       string    `json:"model"`
	Tools       *[]tool   `json:"tools,omitempty"`
	Temperature *float64  `json:"temperature,omitempty"`
	Effort      string    `json:"reasoning_effort,omitempty"`
	// OpenAI's models with reasoning take the first name only, many compatible servers the second.
	MaxCompletionTokens int32 `json:"max_completion_tokens,omitempty"`
	MaxTokens           int32 `json:"max_tokens,omitempty"`
}

type message struct {
	Role       string  `json:"role"`
	Content    string  `json:"content"`
	ToolCalls  []call  `json:"tool_calls,omitempty"`
	ToolCallID *string `json:"tool_call_id,omitempty"`
	Name       string  `json:"name,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type tool struct {
	Type     string     `json:"type"`
	Function definition `json:"function"`
}

type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Codec implements provider.Codec.
type Codec struct{}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	body := request{
		Messages: messages(q.Transcript), Model: q.Model.GetModel(), Temperature: Temperature(q.Model), Effort: q.Model.GetReasoningEffort(),
	}
	if q.Own {
		body.MaxCompletionTokens = q.Model.GetMaxTokens()
	} else {
		body.MaxTokens = q.Model.GetMaxTokens()
	}
	if q.Tools != nil {
		list := tools(q.Tools)
		body.Tools = &list
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode chat completion: %w", err)
	}
	return &provider.Request{Path: "/chat/completions", Header: http.Header{}, Body: raw}, nil
}

// messages translates a transcript. Consecutive calls are one message.
func messages(transcript []conversation.Entry) []message {
	list := make([]message, 0, len(transcript))
	for _, entry := range transcript {
		switch entry.Kind {
		case conversation.System:
			list = append(list, message{Role: "system", Content: entry.Text})
		case conversation.User:
			list = append(list, message{Role: "user", Content: entry.Text})
		case conversation.Assistant:
			list = append(list, message{Role: "assistant", Content: entry.Text})
		case conversation.Result:
			list = append(list, message{Role: "tool", Content: entry.Text, ToolCallID: &entry.ID, Name: entry.Name})
		case conversation.Calling:
			if len(list) == 0 || len(list[len(list)-1].ToolCalls) == 0 {
				list = append(list, message{Role: "assistant"})
			}
			made := call{ID: entry.ID, Type: function}
			made.Function.Name, made.Function.Arguments = entry.Name, entry.Written()
			last := &list[len(list)-1]
			last.ToolCalls = append(last.ToolCalls, made)
		}
	}
	return list
}

func tools(list []*worldv1.Tool) []tool {
	translated := make([]tool, len(list))
	for i, t := range list {
		translated[i] = tool{Type: function, Function: definition{
			Name: t.GetName(), Description: t.GetDescription(), Parameters: json.RawMessage(t.GetParametersJson()),
		}}
	}
	return translated
}
