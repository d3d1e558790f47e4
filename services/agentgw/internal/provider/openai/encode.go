// Package openai is the wire format of OpenAI's chat completions, which many other servers speak too. Requests and answers have the types of
// OpenAI's SDK. It is pure.
package openai

import (
	"encoding/json"
	"fmt"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// BaseURL is OpenAI's own address.
const BaseURL = "https://api.openai.com/v1"

// result is a tool's result. The SDK's has no name, which the original sends.
type result struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id"`
	Name       string `json:"name,omitempty"`
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
type Codec struct{}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	body := sdk.ChatCompletionNewParams{
		Messages: messages(q), Model: q.Model.GetModel(), Tools: tools(q),
		ReasoningEffort: shared.ReasoningEffort(q.Model.GetReasoningEffort()),
	}
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
	raw, err := body.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode chat completion: %w", err)
	}
	return &provider.Request{Path: "/chat/completions", Header: http.Header{}, Body: raw}, nil
}

// messages translates the transcript. Consecutive calls are one message.
func messages(q *provider.Query) []sdk.ChatCompletionMessageParamUnion {
	list := make([]sdk.ChatCompletionMessageParamUnion, 0, len(q.Transcript))
	var calling *sdk.ChatCompletionAssistantMessageParam
	for _, entry := range q.Transcript {
		if entry.Kind != conversation.Calling {
			calling = nil
		}
		switch entry.Kind {
		case conversation.System:
			list = append(list, sdk.SystemMessage(entry.Text))
		case conversation.User:
			list = append(list, sdk.UserMessage(entry.Text))
		case conversation.Assistant:
			list = append(list, sdk.AssistantMessage(entry.Text))
		case conversation.Result:
			answered := result{Role: "tool", Content: entry.Text, ToolCallID: entry.ID}
			if entry.Name != "" {
				answered.Name = Name(q, entry)
			}
			list = append(list, param.Override[sdk.ChatCompletionMessageParamUnion](answered))
		case conversation.Calling:
			if calling == nil {
				message := sdk.AssistantMessage("")
				calling = message.OfAssistant
				if thought := thoughts(q, entry); len(thought) > 0 {
					calling.SetExtraFields(thought)
				}
				list = append(list, message)
			}
			calling.ToolCalls = append(calling.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
					ID:       entry.ID,
					Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: Name(q, entry), Arguments: Arguments(q, entry)},
				},
			})
		}
	}
	return list
}

// tools translates the tools. OpenAI itself refuses an empty list, which the original sends.
func tools(q *provider.Query) []sdk.ChatCompletionToolUnionParam {
	if q.Tools == nil || len(q.Tools) == 0 && q.Own && !q.Compat {
		return nil
	}
	list := make([]sdk.ChatCompletionToolUnionParam, len(q.Tools))
	for i, t := range q.Tools {
		list[i] = param.Override[sdk.ChatCompletionToolUnionParam](tool{Type: "function", Function: definition{
			Name: t.GetName(), Description: t.GetDescription(), Parameters: json.RawMessage(t.GetParametersJson()),
		}})
	}
	return list
}
