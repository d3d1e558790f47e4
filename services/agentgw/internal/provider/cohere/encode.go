// Package cohere is the wire format of Cohere's Chat API, version 2, with its native tool calls. It
// is pure.
package cohere

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Codec implements provider.Codec.
type Codec struct{}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	body := request{
		Model: q.Model.GetModel(), MaxTokens: q.Model.GetMaxTokens(), Temperature: q.Model.Temperature,
		Messages: messages(q), Tools: tools(q.Tools), Stop: q.Model.GetStop(), Seed: q.Seed,
	}
	if n := q.Model.GetThinkingBudget(); n > 0 {
		body.Thinking = &thinking{Type: thinkingEnabled, TokenBudget: n}
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
			Name: t.GetName(), Description: t.GetDescription(), Parameters: json.RawMessage(t.GetParametersJson()),
		}}
	}
	return translated
}
