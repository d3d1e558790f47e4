// Package responses is the wire format of OpenAI's Responses API. Requests store nothing at the
// provider: each contains the whole conversation, with encrypted reasoning of earlier turns. It is
// pure.
package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
)

// noID replaces an empty call id.
const noID = "none"

// Codec implements provider.Codec.
type Codec struct{}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	items, err := input(q)
	if err != nil {
		return nil, err
	}
	body := request{
		Model: q.Model.GetModel(), Input: items, MaxOutputTokens: q.Model.GetMaxTokens(), Temperature: openai.Temperature(q.Model),
		Reasoning: reasoning{Effort: q.Model.GetReasoningEffort()},
	}
	if q.Schema != nil {
		body.Text = &text{Format: format{Type: typeSchema, Name: q.Schema.Name, Schema: json.RawMessage(q.Schema.JSON)}}
	}
	tools, err := tools(q)
	if err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	if openai.Reasons(q.Model) {
		// Other models refuse to return encrypted reasoning.
		body.Include = []string{includeReasoning}
	}
	raw, err := provider.MarshalWithTools(&body, tools)
	if err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	return &provider.Request{Path: "/responses", Header: http.Header{}, Body: raw}, nil
}

// input translates a transcript. A turn with a native form is sent in it.
func input(q *provider.Query) ([]any, error) {
	items := make([]any, 0, len(q.Transcript))
	native := false
	for _, entry := range q.Transcript {
		if native && entry.Kind == conversation.ToolCall {
			continue // part of the native turn
		}
		native = false
		if raw, ok := q.Native[entry.Index]; ok && entry.FromModel() {
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
			items = append(items, &message{Content: entry.Text, Role: roleSystem, Type: typeMessage})
		case conversation.User:
			items = append(items, &message{Content: entry.Text, Role: roleUser, Type: typeMessage})
		case conversation.Assistant:
			items = append(items, &message{Content: entry.Text, Role: roleAssistant, Type: typeMessage})
		case conversation.ToolCall:
			items = append(items, &call{
				Arguments: openai.Arguments(q, entry), CallID: callID(entry), Name: openai.ToolName(q, entry), Type: typeCall,
			})
		case conversation.Result:
			items = append(items, &output{Output: entry.Text, CallID: callID(entry), Type: typeOutput})
		}
	}
	return items, nil
}

// callID returns the id that a call and its output share. It is never empty.
func callID(entry conversation.Entry) string { return cmp.Or(entry.CallID(), noID) }

// tools encodes the tools. The interface refuses an empty list.
func tools(q *provider.Query) (provider.RawJSON, error) {
	if len(q.Tools) == 0 {
		return nil, nil
	}
	return q.EncodeTools("responses", func() ([]byte, error) {
		list := make([]tool, len(q.Tools))
		for i, t := range q.Tools {
			list[i] = tool{
				Type: typeFunction, Name: t.GetName(), Description: t.GetDescription(), Parameters: json.RawMessage(t.GetParametersJson()),
			}
		}
		return provider.Marshal(list)
	})
}
