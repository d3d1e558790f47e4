// Package anthropic is the wire format of Anthropic's messages. It is pure.
package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// BaseURL is Anthropic's own address.
const BaseURL = "https://api.anthropic.com"

const (
	version = "2023-06-01"
	// defaultTokens is the longest answer if nobody says; the interface wants a number.
	defaultTokens = 4096
	// compatTokens, compatBeta and compatQuery are what the original sends.
	compatTokens = 1024
	compatBeta   = "tools-2024-05-16"
	compatQuery  = "?beta=tools"
	// opening begins a conversation in which the model spoke first; the interface wants a user's message there.
	opening = "Hello."

	roleUser      = "user"
	roleAssistant = "assistant"
	typeText      = "text"
	typeUse       = "tool_use"
	typeResult    = "tool_result"
)

type request struct {
	Model       string    `json:"model"`
	MaxTokens   int32     `json:"max_tokens"`
	Temperature *float64  `json:"temperature,omitempty"`
	System      string    `json:"system,omitempty"`
	Messages    []message `json:"messages"`
	Tools       *[]tool   `json:"tools,omitempty"`
}

// message has a text or a list of blocks as its content.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type useBlock struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type resultBlock struct {
	Type      string      `json:"type"`
	ToolUseID string      `json:"tool_use_id"`
	Content   []textBlock `json:"content"`
	IsError   bool        `json:"is_error"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// Codec implements provider.Codec.
type Codec struct{}

// Encode implements provider.Codec.
func (Codec) Encode(q *provider.Query) (*provider.Request, error) {
	body := request{
		Model: q.Model.GetModel(), MaxTokens: q.Model.GetMaxTokens(), Temperature: q.Model.Temperature,
		System: system(q.Transcript), Messages: messages(q),
	}
	sent := &provider.Request{Path: "/v1/messages", Header: http.Header{"Anthropic-Version": {version}}}
	if q.Compat {
		sent.Path += compatQuery
		sent.Header.Set("Anthropic-Beta", compatBeta)
		if body.Temperature == nil {
			body.Temperature = new(float64)
		}
	}
	switch {
	case body.MaxTokens > 0:
	case q.Compat:
		body.MaxTokens = compatTokens
	default:
		body.MaxTokens = defaultTokens
	}
	if q.Tools != nil {
		list := tools(q.Tools)
		body.Tools = &list
	}
	var err error
	if sent.Body, err = json.Marshal(body); err != nil {
		return nil, fmt.Errorf("encode messages: %w", err)
	}
	return sent, nil
}

// system joins the system texts.
func system(transcript []conversation.Entry) string {
	var texts []string
	for _, entry := range transcript {
		if entry.Kind == conversation.System {
			texts = append(texts, entry.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// messages translates a transcript without its system texts. Consecutive calls are one message, consecutive results too. A
// turn that is known in the provider's own form is sent in it.
func messages(q *provider.Query) []message {
	list := make([]message, 0, len(q.Transcript))
	var blocks []any
	open := conversation.Kind(0)
	end := func() {
		switch open {
		case conversation.Calling:
			list = append(list, message{Role: roleAssistant, Content: blocks})
		case conversation.Result:
			list = append(list, message{Role: roleUser, Content: blocks})
		case conversation.System, conversation.User, conversation.Assistant:
		}
		blocks, open = nil, 0
	}
	native := false
	for _, entry := range q.Transcript {
		if entry.Kind == conversation.System {
			continue
		}
		if native && entry.Kind == conversation.Calling {
			continue // a part of the turn that was sent as a whole
		}
		native = false
		if entry.Kind != open {
			end()
		}
		if raw, known := q.Native[entry.Index]; known && (entry.Kind == conversation.Calling || entry.Kind == conversation.Assistant) {
			list = append(list, message{Role: roleAssistant, Content: json.RawMessage(raw)})
			native = true
			continue
		}
		switch entry.Kind {
		case conversation.Calling, conversation.Result:
			open = entry.Kind
			blocks = append(blocks, block(entry))
		case conversation.User:
			list = append(list, message{Role: roleUser, Content: entry.Text})
		case conversation.Assistant:
			if q.Flipped && len(list) == 0 {
				list = append(list, message{Role: roleUser, Content: opening})
			}
			list = append(list, message{Role: roleAssistant, Content: entry.Text})
		case conversation.System:
		}
	}
	end()
	return list
}

// block translates a call or a result. Both carry the id of the message's own column.
func block(entry conversation.Entry) any {
	id := entry.ID
	if entry.RowID != nil {
		id = *entry.RowID
	}
	if entry.Kind == conversation.Calling {
		return useBlock{Type: typeUse, ID: id, Name: entry.Name, Input: json.RawMessage(entry.Object(false))}
	}
	return resultBlock{
		Type: typeResult, ToolUseID: id, IsError: entry.Failed,
		Content: []textBlock{{Type: typeText, Text: entry.Text}},
	}
}

func tools(list []*worldv1.Tool) []tool {
	translated := make([]tool, len(list))
	for i, t := range list {
		translated[i] = tool{Name: t.GetName(), Description: t.GetDescription(), InputSchema: json.RawMessage(t.GetParametersJson())}
	}
	return translated
}
