// Package openai is the wire format of OpenAI's Chat Completions API, which many other servers
// implement. It is pure.
package openai

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// mistralHost is Mistral's server, which refuses a seed under OpenAI's name.
const mistralHost = "api.mistral.ai"

// Codec implements provider.Codec.
type Codec struct {
	// Compat accepts an answer whatever its finish reason, as the original does.
	Compat bool
}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	body := request{
		Messages: messages(q), Model: q.Model.GetModel(), Temperature: Temperature(q.Model), ReasoningEffort: q.Model.GetReasoningEffort(),
		Stop: q.Model.GetStop(),
	}
	if q.Host == mistralHost {
		body.RandomSeed = q.Seed
	} else {
		body.Seed = q.Seed
	}
	// OpenAI's reasoning models take only the first name, many compatible servers only the second.
	if limit := q.Model.GetMaxTokens(); q.Official {
		body.MaxCompletionTokens = limit
	} else {
		body.MaxTokens = limit
	}
	if q.Schema != nil {
		body.ResponseFormat = &responseFormat{Type: typeSchema, Schema: namedSchema{Name: q.Schema.Name, Schema: json.RawMessage(q.Schema.JSON)}}
	}
	tools, err := tools(q)
	if err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	raw, err := provider.MarshalWithTools(&body, tools)
	if err != nil {
		return nil, fmt.Errorf("encode chat completion: %w", err)
	}
	return &provider.Request{Path: "/chat/completions", Header: http.Header{}, Body: raw}, nil
}

// tools encodes the tools. It returns nil if the field is omitted. OpenAI itself refuses an empty
// list, which the original sends. An agent whose last visible text is its own gets no tools: the
// original offers them only after a text of the user or a tool.
func tools(q *provider.Query) (provider.RawJSON, error) {
	hidden := !q.PlaysUser && len(q.Transcript) > 0 && q.Transcript[len(q.Transcript)-1].FromModel()
	if q.Tools == nil || hidden || len(q.Tools) == 0 && q.Official && !q.Compat {
		return nil, nil
	}
	return q.EncodeTools("openai", func() ([]byte, error) {
		list := make([]tool, len(q.Tools))
		for i, t := range q.Tools {
			list[i] = tool{Type: typeFunction, Function: definition{
				Name: t.GetName(), Description: t.GetDescription(), Parameters: json.RawMessage(t.GetParametersJson()),
			}}
		}
		return provider.Marshal(list)
	})
}
