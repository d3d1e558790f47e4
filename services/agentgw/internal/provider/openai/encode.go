// Package openai is the wire format of OpenAI's chat completions, which many other servers speak
// too. Requests and answers have the types of OpenAI's SDK. It is pure.
package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// BaseURL is OpenAI's own address.
const BaseURL = "https://api.openai.com/v1"

// requestFields are the SDK's without its MarshalJSON.
type requestFields sdk.ChatCompletionNewParams

// request is the SDK's request with messages of this package and the tools in JSON.
type request struct {
	Messages []any `json:"messages"`
	requestFields
	Tools provider.Written `json:"tools,omitempty"`
}

// tool is a tool's definition. The SDK's has the parameters in a map, which loses their order.
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
type Codec struct {
	// Compat takes an answer as it is, whatever it says of why it ends, as the original does.
	Compat bool
}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	body := request{Messages: messages(q)}
	body.Model, body.ReasoningEffort = q.Model.GetModel(), shared.ReasoningEffort(q.Model.GetReasoningEffort())
	if t := Temperature(q.Model); t != nil {
		body.Temperature = param.NewOpt(*t)
	}
	// OpenAI's models with reasoning take the first name only, many compatible servers the second.
	switch limit := int64(q.Model.GetMaxTokens()); {
	case limit == 0:
	case q.Own:
		body.MaxCompletionTokens = param.NewOpt(limit)
	default:
		body.MaxTokens = param.NewOpt(limit)
	}
	var err error
	if body.Tools, err = tools(q); err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	// The SDK's encoder takes JSON as it is, where that of the standard library reads it all once
	// more.
	raw, err := param.MarshalObject(sdk.ChatCompletionNewParams{}, &body)
	if err != nil {
		return nil, fmt.Errorf("encode chat completion: %w", err)
	}
	return &provider.Request{Path: "/chat/completions", Header: http.Header{}, Body: raw}, nil
}

// tools translates the tools, nil if there is nothing to say of them. OpenAI itself refuses an
// empty list, which the original sends.
func tools(q *provider.Query) (provider.Written, error) {
	if q.Tools == nil || len(q.Tools) == 0 && q.Own && !q.Compat {
		return nil, nil
	}
	return q.WriteTools("openai", func() ([]byte, error) {
		list := make([]tool, len(q.Tools))
		for i, t := range q.Tools {
			list[i] = tool{Type: "function", Function: definition{
				Name: t.GetName(), Description: t.GetDescription(), Parameters: json.RawMessage(t.GetParametersJson()),
			}}
		}
		return Checked(list)
	})
}

// Checked encodes a value as the SDK does, and in addition fails if raw JSON in it is none.
func Checked(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSpace(b.Bytes()), err
}
