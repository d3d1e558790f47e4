package cohere

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const finishMaxTokens = "MAX_TOKENS"

// answered is the body of an answer.
type answered struct {
	FinishReason string           `json:"finish_reason"`
	Message      *json.RawMessage `json:"message"`
	Usage        *struct {
		Tokens *counted `json:"tokens"`
		Billed *counted `json:"billed_units"`
		Cached float64  `json:"cached_tokens"`
	} `json:"usage"`
}

// counted has numbers of tokens, which the interface describes as fractional.
type counted struct {
	Input  float64 `json:"input_tokens"`
	Output float64 `json:"output_tokens"`
}

type answeredMessage struct {
	Content []struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		Thinking string  `json:"thinking"`
	} `json:"content"`
	ToolPlan  string         `json:"tool_plan"`
	ToolCalls []answeredCall `json:"tool_calls"`
}

type answeredCall struct {
	ID       *string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// sentBack is the part of an answer's message that belongs into later requests.
type sentBack struct {
	Role      string           `json:"role"`
	Content   *json.RawMessage `json:"content,omitempty"`
	ToolPlan  *json.RawMessage `json:"tool_plan,omitempty"`
	ToolCalls *json.RawMessage `json:"tool_calls,omitempty"`
}

// Decode implements provider.Codec. The turn's own form is kept if it holds a plan or reasoning.
func (Codec) Decode(body []byte) (*provider.Answer, error) {
	var read answered
	if err := json.Unmarshal(body, &read); err != nil {
		return nil, fmt.Errorf("%w: no chat answer: %w", provider.ErrAnswer, err)
	}
	if read.Message == nil {
		return nil, fmt.Errorf("%w: a chat answer without a message", provider.ErrAnswer)
	}
	var message answeredMessage
	if err := json.Unmarshal(*read.Message, &message); err != nil {
		return nil, fmt.Errorf("%w: a chat answer whose message cannot be read: %w", provider.ErrAnswer, err)
	}
	answer := &provider.Answer{Usage: read.usage()}
	cut := read.FinishReason == finishMaxTokens
	for i, made := range message.ToolCalls {
		arguments := made.Function.Arguments
		if arguments == "" {
			arguments = "{}"
		}
		answer.Calls = append(answer.Calls, provider.Call{
			ID: made.ID, Name: made.Function.Name, Arguments: arguments, Cut: cut && i == len(message.ToolCalls)-1,
		})
	}
	var text strings.Builder
	said, reasoned := false, message.ToolPlan != ""
	for _, part := range message.Content {
		switch part.Type {
		case typeText:
			if part.Text != nil {
				said = true
				text.WriteString(*part.Text)
			}
		case typeThinking:
			reasoned = true
		}
	}
	switch {
	case len(answer.Calls) > 0:
	case said:
		answer.Text = text.String()
	default:
		answer.Nothing = "the answer has neither text nor calls: " + read.FinishReason
	}
	if reasoned && (len(answer.Calls) > 0 || answer.Text != "") {
		var err error
		if answer.Native, err = native(*read.Message); err != nil {
			return nil, fmt.Errorf("%w: %w", provider.ErrAnswer, err)
		}
	}
	return answer, nil
}

// native keeps of a message what its provider takes back.
func native(raw json.RawMessage) ([]byte, error) {
	var kept sentBack
	if err := json.Unmarshal(raw, &kept); err != nil {
		return nil, err
	}
	kept.Role = roleAssistant
	return json.Marshal(kept)
}

// usage returns what the model read and wrote; billed units leave out what is not charged.
func (a *answered) usage() *agentgwv1.Usage {
	if a.Usage == nil {
		return nil
	}
	n := a.Usage.Tokens
	if n == nil {
		n = a.Usage.Billed
	}
	if n == nil {
		return nil
	}
	return &agentgwv1.Usage{InputTokens: tokens(n.Input), CachedTokens: tokens(a.Usage.Cached), OutputTokens: tokens(n.Output)}
}

// tokens bounds a number to what can be added up.
func tokens(n float64) int64 {
	const most = 1 << 40
	return int64(max(min(n, most), 0))
}
