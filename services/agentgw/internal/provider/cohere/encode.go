// Package cohere is the wire format of Cohere's chat, version 2, with its native tool calls. It is
// pure. Cohere's SDK gives the types; those of this package say what the SDK's cannot.
package cohere

import (
	"encoding/json"
	"fmt"
	"net/http"

	cohere "github.com/cohere-ai/cohere-go/v2"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// BaseURL is Cohere's own address.
const BaseURL = "https://api.cohere.com/v2"

const typeFunction = "function"

// chat is the SDK's request without its MarshalJSON, which would leave out what is added to it.
type chat cohere.V2ChatRequest

// request is the SDK's request, with messages and tools of this package.
type request struct {
	chat

	Messages []any  `json:"messages"`
	Tools    []tool `json:"tools,omitempty"`
	Stream   bool   `json:"stream"` // V2ChatRequest adds it in its MarshalJSON
}

// tool is the SDK's ToolV2 with a definition of this package.
type tool struct {
	Type     string     `json:"type"`
	Function definition `json:"function"`
}

// definition is the SDK's, whose Parameters are a map: it would lose the order of the schema's keys
// and the spelling of its numbers.
type definition struct {
	cohere.ToolV2Function

	Parameters json.RawMessage `json:"parameters"`
}

// Codec implements provider.Codec.
type Codec struct{}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	body := request{
		chat:     chat{Model: q.Model.GetModel(), Temperature: q.Model.Temperature},
		Messages: messages(q), Tools: tools(q.Tools),
	}
	if n := q.Model.GetMaxTokens(); n != 0 {
		body.MaxTokens = cohere.Int(int(n))
	}
	if n := q.Model.GetThinkingBudget(); n > 0 {
		body.Thinking = &cohere.Thinking{Type: cohere.ThinkingTypeEnabled, TokenBudget: cohere.Int(int(n))}
	}
	raw, err := json.Marshal(&body)
	if err != nil {
		return nil, fmt.Errorf("encode chat: %w", err)
	}
	return &provider.Request{Path: "/chat", Header: http.Header{}, Body: raw}, nil
}

func tools(list []*worldv1.Tool) []tool {
	translated := make([]tool, len(list))
	for i, t := range list {
		translated[i] = tool{Type: typeFunction, Function: definition{
			ToolV2Function: cohere.ToolV2Function{Name: t.GetName(), Description: cohere.String(t.GetDescription())},
			Parameters:     json.RawMessage(t.GetParametersJson()),
		}}
	}
	return translated
}
