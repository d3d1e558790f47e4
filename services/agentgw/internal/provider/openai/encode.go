// Package openai is the wire format of OpenAI's chat completions, which many other servers speak
// too. It is pure.
package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// Codec implements provider.Codec.
type Codec struct {
	// Compat takes an answer as it is, whatever it says of why it ends, as the original does.
	Compat bool
}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	body := request{
		Messages: messages(q), Model: q.Model.GetModel(), Temperature: Temperature(q.Model), ReasoningEffort: q.Model.GetReasoningEffort(),
		Seed: q.Seed,
	}
	// OpenAI's models with reasoning take the first name only, many compatible servers the second.
	if limit := q.Model.GetMaxTokens(); q.Own {
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
	raw, err := Encode(&body)
	if err != nil {
		return nil, fmt.Errorf("encode chat completion: %w", err)
	}
	return &provider.Request{Path: "/chat/completions", Header: http.Header{}, Body: provider.WithTools(raw, tools)}, nil
}

// tools translates the tools, nil if there is nothing to say of them. OpenAI itself refuses an
// empty list, which the original sends. An agent whose user's text is hidden has none: the original
// offers them only to what a user or a tool said.
func tools(q *provider.Query) (provider.Written, error) {
	hidden := !q.Flipped && len(q.Transcript) > 0 && q.Transcript[len(q.Transcript)-1].Own()
	if q.Tools == nil || hidden || len(q.Tools) == 0 && q.Own && !q.Compat {
		return nil, nil
	}
	return q.WriteTools("openai", func() ([]byte, error) {
		list := make([]tool, len(q.Tools))
		for i, t := range q.Tools {
			list[i] = tool{Type: typeFunction, Function: definition{
				Name: t.GetName(), Description: t.GetDescription(), Parameters: json.RawMessage(t.GetParametersJson()),
			}}
		}
		return Encode(list)
	})
}

// Encode is JSON of a value, with <, > and & as they are. It fails if raw JSON in it is none.
func Encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSpace(b.Bytes()), err
}
