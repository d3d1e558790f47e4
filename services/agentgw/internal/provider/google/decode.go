package google

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

type answered struct {
	Candidates []struct {
		Content *struct {
			Parts *json.RawMessage `json:"parts"`
		} `json:"content"`
		FinishReason string `json:"finishReason"`
	} `json:"candidates"`
	Feedback *struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt     int64 `json:"promptTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
}

type answeredPart struct {
	Text         *string `json:"text"`
	Thought      bool    `json:"thought"`
	Signature    string  `json:"thoughtSignature"`
	FunctionCall *struct {
		ID   *string         `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// Decode implements provider.Codec. Only the first candidate counts. The turn's own form is always kept: text beside calls and
// signatures of thoughts belong into later requests.
func (Codec) Decode(body []byte) (*provider.Answer, error) {
	var read answered
	if err := json.Unmarshal(body, &read); err != nil {
		return nil, fmt.Errorf("%w: no generated content: %w", provider.ErrAnswer, err)
	}
	if read.Candidates == nil && read.Feedback == nil && read.Usage == nil {
		return nil, fmt.Errorf("%w: generated content without candidates", provider.ErrAnswer)
	}
	answer := &provider.Answer{}
	if u := read.Usage; u != nil {
		answer.Usage = &agentgwv1.Usage{
			InputTokens: u.Prompt, CachedTokens: u.Cached, OutputTokens: u.Candidates + u.Thoughts, ReasoningTokens: u.Thoughts,
		}
	}
	if len(read.Candidates) == 0 {
		answer.Nothing = "the answer has no candidate"
		if read.Feedback != nil && read.Feedback.BlockReason != "" {
			answer.Nothing += ": " + read.Feedback.BlockReason
		}
		return answer, nil
	}
	first := read.Candidates[0]
	if first.Content == nil || first.Content.Parts == nil {
		answer.Nothing = "the answer's candidate has no parts: " + first.FinishReason
		return answer, nil
	}
	var parts []answeredPart
	if err := json.Unmarshal(*first.Content.Parts, &parts); err != nil {
		return nil, fmt.Errorf("%w: a candidate whose parts are no list: %w", provider.ErrAnswer, err)
	}
	collect(answer, parts)
	if answer.Nothing != "" {
		answer.Nothing += ": " + first.FinishReason
		return answer, nil
	}
	if len(answer.Calls) > 0 || answer.Text != "" || slices.ContainsFunc(parts, signed) {
		answer.Native = *first.Content.Parts
	}
	return answer, nil
}

// signed says whether a part has the signature of a thought, which belongs into later requests even where nothing was said.
func signed(p answeredPart) bool { return p.Signature != "" }

// collect reads the parts of a candidate. Calls win over text.
func collect(answer *provider.Answer, parts []answeredPart) {
	var text strings.Builder
	said := false
	for _, p := range parts {
		switch {
		case p.FunctionCall != nil && (p.FunctionCall.Name != "" || len(p.FunctionCall.Args) > 0):
			call := provider.Call{ID: p.FunctionCall.ID, Unnamed: true, Name: p.FunctionCall.Name, Arguments: string(p.FunctionCall.Args)}
			if call.ID != nil && *call.ID == "" {
				call.ID = nil
			}
			if call.Arguments == "" || call.Arguments == "null" {
				call.Arguments = "{}"
			}
			answer.Calls = append(answer.Calls, call)
		case p.Text != nil && !p.Thought:
			said = true
			text.WriteString(*p.Text)
		}
	}
	switch {
	case len(answer.Calls) > 0:
	case said:
		answer.Text = text.String()
	default:
		answer.Nothing = "the answer's candidate has neither text nor calls"
	}
}
