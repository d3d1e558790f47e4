package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// legacyID is the id of a call in the old form, which has none.
const legacyID = "call_1"

// completion is the body of an answer. What servers get wrong in practice is kept raw.
type completion struct {
	Choices *[]choice `json:"choices"`
	Usage   *struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
		Prompt           struct {
			CachedTokens int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Completion struct {
			ReasoningTokens int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
}

type choice struct {
	Message *struct {
		Content      json.RawMessage `json:"content"`
		Refusal      *string         `json:"refusal"`
		ToolCalls    []answeredCall  `json:"tool_calls"`
		FunctionCall *named          `json:"function_call"`
	} `json:"message"`
}

type answeredCall struct {
	ID       *string `json:"id"`
	Function named   `json:"function"`
}

type named struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Decode implements provider.Codec. Only the first choice counts.
func (Codec) Decode(body []byte) (*provider.Answer, error) {
	var read completion
	if err := json.Unmarshal(body, &read); err != nil {
		return nil, fmt.Errorf("%w: no chat completion: %w", provider.ErrAnswer, err)
	}
	if read.Choices == nil {
		return nil, fmt.Errorf("%w: a chat completion without choices", provider.ErrAnswer)
	}
	answer := &provider.Answer{}
	if u := read.Usage; u != nil {
		answer.Usage = &agentgwv1.Usage{
			InputTokens: u.PromptTokens, CachedTokens: u.Prompt.CachedTokens,
			OutputTokens: u.CompletionTokens, ReasoningTokens: u.Completion.ReasoningTokens,
		}
	}
	choices := *read.Choices
	switch {
	case len(choices) == 0:
		answer.Nothing = "the answer has no choice"
		return answer, nil
	case choices[0].Message == nil:
		answer.Nothing = "the answer's choice has no message"
		return answer, nil
	}
	message := choices[0].Message
	for _, made := range message.ToolCalls {
		answer.Calls = append(answer.Calls, provider.Call{ID: made.ID, Name: made.Function.Name, Arguments: made.Function.text()})
	}
	if made := message.FunctionCall; made != nil && len(answer.Calls) == 0 {
		id := legacyID
		answer.Calls = []provider.Call{{ID: &id, Name: made.Name, Arguments: made.text()}}
	}
	if len(answer.Calls) > 0 {
		return answer, nil
	}
	text, ok := content(message.Content)
	switch {
	case ok:
		answer.Text = text
	case message.Refusal != nil:
		answer.Text = *message.Refusal
	default:
		answer.Nothing = "the answer has neither text nor calls"
	}
	return answer, nil
}

// text returns the arguments. They are a text that holds JSON; some servers send the object itself, or nothing.
func (n named) text() string {
	if len(n.Arguments) == 0 || isNull(n.Arguments) {
		return "{}"
	}
	var text string
	if err := json.Unmarshal(n.Arguments, &text); err != nil {
		return string(n.Arguments)
	}
	return text
}

// content reads a text, or a list of parts with texts.
func content(raw json.RawMessage) (text string, ok bool) {
	if len(raw) == 0 || isNull(raw) {
		return "", false
	}
	if err := json.Unmarshal(raw, &text); err == nil {
		return text, true
	}
	var parts []struct {
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", false
	}
	var b strings.Builder
	for _, part := range parts {
		if part.Text != nil {
			b.WriteString(*part.Text)
			ok = true
		}
	}
	return b.String(), ok
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }
