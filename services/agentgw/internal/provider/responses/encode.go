// Package responses is the wire format of OpenAI's responses. Nothing is stored at the provider:
// each request holds all of the conversation, with the reasoning of earlier turns in its encrypted
// form. Requests and the parts of answers have the types of OpenAI's SDK. It is pure.
package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3/packages/param"
	sdk "github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
)

// noID stands for the id of a call whose model gave an empty one.
const noID = "none"

// tool is a tool's definition. The SDK's has the parameters in a map, which loses their order. It
// is not strict: strictness would make every argument required.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// requestFields are the SDK's without its MarshalJSON.
type requestFields sdk.ResponseNewParams

// request is the SDK's request with the tools in JSON.
type request struct {
	requestFields
	Tools provider.Written `json:"tools,omitempty"`
}

// Codec implements provider.Codec.
type Codec struct{}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	items, err := input(q)
	if err != nil {
		return nil, err
	}
	body := request{requestFields: requestFields{
		Model: q.Model.GetModel(), Input: sdk.ResponseNewParamsInputUnion{OfInputItemList: items}, Store: param.NewOpt(false),
		Reasoning: shared.ReasoningParam{Effort: shared.ReasoningEffort(q.Model.GetReasoningEffort())},
	}}
	if body.Tools, err = tools(q); err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	if openai.Reasons(q.Model) {
		// Models without reasoning refuse to be asked for it in a form that can be sent back.
		body.Include = []sdk.ResponseIncludable{sdk.ResponseIncludableReasoningEncryptedContent}
	}
	if t := openai.Temperature(q.Model); t != nil {
		body.Temperature = param.NewOpt(*t)
	}
	if limit := int64(q.Model.GetMaxTokens()); limit != 0 {
		body.MaxOutputTokens = param.NewOpt(limit)
	}
	raw, err := param.MarshalObject(sdk.ResponseNewParams{}, &body)
	if err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	return &provider.Request{Path: "/responses", Header: http.Header{}, Body: raw}, nil
}

// input translates a transcript. A turn that is known in the provider's own form is sent in it.
func input(q *provider.Query) (sdk.ResponseInputParam, error) {
	items := make(sdk.ResponseInputParam, 0, len(q.Transcript))
	native := false
	for _, entry := range q.Transcript {
		if native && entry.Kind == conversation.ToolCall {
			continue // a part of the turn that was sent as a whole
		}
		native = false
		if raw, known := q.Native[entry.Index]; known && entry.Own() {
			var own []json.RawMessage
			if err := json.Unmarshal(raw, &own); err != nil {
				return nil, fmt.Errorf("recorded turn: %w", err)
			}
			for _, item := range own {
				items = append(items, param.Override[sdk.ResponseInputItemUnionParam](item))
			}
			native = true
			continue
		}
		switch entry.Kind {
		case conversation.System:
			items = append(items, message(sdk.EasyInputMessageRoleSystem, entry.Text))
		case conversation.User:
			items = append(items, message(sdk.EasyInputMessageRoleUser, entry.Text))
		case conversation.Assistant:
			items = append(items, message(sdk.EasyInputMessageRoleAssistant, entry.Text))
		case conversation.ToolCall:
			items = append(items, sdk.ResponseInputItemParamOfFunctionCall(openai.Arguments(q, entry), callID(entry), openai.Name(q, entry)))
		case conversation.Result:
			item := sdk.ResponseInputItemParamOfFunctionCallOutput(entry.Text)
			item.OfFunctionCallOutput.CallID = param.NewOpt(callID(entry))
			items = append(items, item)
		}
	}
	return items, nil
}

// callID returns the id that a call and its output share, which must not be empty.
func callID(entry conversation.Entry) string { return cmp.Or(entry.CallID(), noID) }

func message(role sdk.EasyInputMessageRole, text string) sdk.ResponseInputItemUnionParam {
	item := sdk.ResponseInputItemParamOfMessage(text, role)
	item.OfMessage.Type = sdk.EasyInputMessageTypeMessage
	return item
}

// tools translates the tools; the interface refuses an empty list.
func tools(q *provider.Query) (provider.Written, error) {
	if len(q.Tools) == 0 {
		return nil, nil
	}
	return q.WriteTools("responses", func() ([]byte, error) {
		list := make([]tool, len(q.Tools))
		for i, t := range q.Tools {
			list[i] = tool{
				Type: "function", Name: t.GetName(), Description: t.GetDescription(), Parameters: json.RawMessage(t.GetParametersJson()),
			}
		}
		return openai.Checked(list)
	})
}
