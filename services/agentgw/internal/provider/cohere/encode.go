// Package cohere is the wire format of Cohere's chat, version 2, with its native tool calls. It is pure.
package cohere

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// BaseURL is Cohere's own address.
const BaseURL = "https://api.cohere.com/v2"

const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"

	typeFunction = "function"
	typeDocument = "document"
	typeText     = "text"
	typeThinking = "thinking"

	// blank stands for an empty text of somebody else, which the interface refuses.
	blank = " "
)

type request struct {
	Model       string    `json:"model"`
	Messages    []any     `json:"messages"` // message values, or raw ones as an earlier answer had them
	Tools       []tool    `json:"tools,omitempty"`
	Temperature *float64  `json:"temperature,omitempty"`
	MaxTokens   int32     `json:"max_tokens,omitempty"`
	Thinking    *thinking `json:"thinking,omitempty"`
	Stream      bool      `json:"stream"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int32  `json:"token_budget"`
}

type message struct {
	Role       string `json:"role"`
	Content    any    `json:"content,omitempty"` // a text, or documents of a result
	ToolCalls  []call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type document struct {
	Type     string `json:"type"`
	Document struct {
		Data string `json:"data"`
	} `json:"document"`
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
		Model: q.Model.GetModel(), Messages: messages(q), Tools: tools(q.Tools),
		Temperature: q.Model.Temperature, MaxTokens: q.Model.GetMaxTokens(),
	}
	if n := q.Model.GetThinkingBudget(); n > 0 {
		body.Thinking = &thinking{Type: "enabled", Budget: n}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode chat: %w", err)
	}
	return &provider.Request{Path: "/chat", Header: http.Header{}, Body: raw}, nil
}

// messages translates a transcript. Consecutive calls are one message. A turn that is known in the provider's own form is sent in it.
func messages(q *provider.Query) []any {
	list := make([]any, 0, len(q.Transcript))
	var calling *message // the last message, while calls belong to it
	native := false
	for _, entry := range q.Transcript {
		if native && entry.Kind == conversation.Calling {
			continue // a part of the turn that was sent as a whole
		}
		native = false
		if entry.Kind != conversation.Calling {
			calling = nil
		}
		if raw, known := q.Native[entry.Index]; known && entry.Own() {
			list = append(list, json.RawMessage(raw))
			native = true
			continue
		}
		switch entry.Kind {
		case conversation.System:
			list = append(list, &message{Role: roleSystem, Content: said(entry.Text)})
		case conversation.User:
			list = append(list, &message{Role: roleUser, Content: said(entry.Text)})
		case conversation.Assistant:
			if entry.Text != "" { // nothing was said
				list = append(list, &message{Role: roleAssistant, Content: entry.Text})
			}
		case conversation.Calling:
			if calling == nil {
				calling = &message{Role: roleAssistant}
				list = append(list, calling)
			}
			calling.ToolCalls = append(calling.ToolCalls, made(entry))
		case conversation.Result:
			list = append(list, &message{Role: roleTool, ToolCallID: entry.CallID(), Content: documents(entry.Text)})
		}
	}
	return list
}

func said(text string) string {
	if text == "" {
		return blank
	}
	return text
}

func made(entry conversation.Entry) call {
	c := call{ID: entry.CallID(), Type: typeFunction}
	c.Function.Name, c.Function.Arguments = entry.Name, entry.Object(false)
	return c
}

func documents(text string) []document {
	d := document{Type: typeDocument}
	d.Document.Data = text
	return []document{d}
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
