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
	// unsaid stands for an empty text of somebody else, which the interface refuses.
	unsaid = "(nothing)"

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
	Thinking    *thinking `json:"thinking,omitempty"`
	System      string    `json:"system,omitempty"`
	Messages    []message `json:"messages"`
	Tools       *[]tool   `json:"tools,omitempty"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int32  `json:"budget_tokens"`
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
	if budget := q.Model.GetThinkingBudget(); budget > 0 {
		if q.Model.GetMaxTokens() == 0 {
			body.MaxTokens += budget // which counts as a part of the answer
		}
		body.Temperature = nil // refused with thinking
		if thinks(q) {
			body.Thinking = &thinking{Type: "enabled", Budget: budget}
		}
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

// thinks says whether the model may think in this turn: not while it waits for results of calls that it made without thinking, which
// another agent did or a demonstration shows.
func thinks(q *provider.Query) bool {
	i := len(q.Transcript) - 1
	for i >= 0 && q.Transcript[i].Kind == conversation.Result {
		i--
	}
	if i == len(q.Transcript)-1 {
		return true
	}
	for i > 0 && q.Transcript[i].Kind == conversation.Calling && q.Transcript[i-1].Kind == conversation.Calling {
		i--
	}
	return i < 0 || q.Native[q.Transcript[i].Index] != nil
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
		if raw, known := q.Native[entry.Index]; known && entry.Own() {
			list = append(list, message{Role: roleAssistant, Content: json.RawMessage(raw)})
			native = true
			continue
		}
		switch entry.Kind {
		case conversation.Calling, conversation.Result:
			open = entry.Kind
			blocks = append(blocks, block(entry, strict(q)))
		case conversation.User:
			if entry.Text == "" && strict(q) {
				entry.Text = unsaid
			}
			list = append(list, message{Role: roleUser, Content: entry.Text})
		case conversation.Assistant:
			if q.Flipped && len(list) == 0 {
				list = append(list, message{Role: roleUser, Content: opening})
			}
			if entry.Text != "" || !strict(q) { // there is nothing to be said about an empty text
				list = append(list, message{Role: roleAssistant, Content: entry.Text})
			}
		case conversation.System:
		}
	}
	end()
	return list
}

// strict says whether empty texts are refused, as Anthropic itself does.
func strict(q *provider.Query) bool { return q.Own && !q.Compat }

// block translates a call or a result. Both carry the id of the message's own column.
func block(entry conversation.Entry, strict bool) any {
	if entry.Kind == conversation.Calling {
		return useBlock{Type: typeUse, ID: entry.CallID(), Name: entry.Name, Input: json.RawMessage(entry.Object(false))}
	}
	content := []textBlock{{Type: typeText, Text: entry.Text}}
	if entry.Text == "" && strict {
		content = []textBlock{}
	}
	return resultBlock{Type: typeResult, ToolUseID: entry.CallID(), IsError: entry.Failed, Content: content}
}

func tools(list []*worldv1.Tool) []tool {
	translated := make([]tool, len(list))
	for i, t := range list {
		translated[i] = tool{Name: t.GetName(), Description: t.GetDescription(), InputSchema: json.RawMessage(t.GetParametersJson())}
	}
	return translated
}
