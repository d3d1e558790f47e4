package google

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// Decode implements provider.Codec. Only the first candidate counts. The turn's own form is always
// kept: text beside calls and signatures of thoughts belong into later requests.
func (Codec) Decode(body []byte) (*provider.Answer, error) {
	var read response
	if err := provider.Unmarshal(body, &read); err != nil {
		return nil, fmt.Errorf("%w: no generated content: %w", provider.ErrAnswer, err)
	}
	if read.Candidates == nil && read.PromptFeedback == nil && read.UsageMetadata == nil {
		return nil, fmt.Errorf("%w: generated content without candidates", provider.ErrAnswer)
	}
	answer := &provider.Answer{Usage: usage(read.UsageMetadata)}
	if len(read.Candidates) == 0 {
		answer.Nothing = "the answer has no candidate"
		if read.PromptFeedback != nil && read.PromptFeedback.BlockReason != "" {
			answer.Nothing += ": " + read.PromptFeedback.BlockReason
		}
		return answer, nil
	}
	first := &read.Candidates[0]
	if first.Content.Parts == nil {
		answer.Nothing = "the answer's candidate has no parts: " + first.FinishReason
		return answer, nil
	}
	var parts []part
	if err := json.Unmarshal(*first.Content.Parts, &parts); err != nil {
		return nil, fmt.Errorf("%w: a candidate whose parts are no list: %w", provider.ErrAnswer, err)
	}
	collect(answer, parts)
	if answer.Nothing != "" {
		answer.Nothing += ": " + first.FinishReason
		return answer, nil
	}
	if returnable(parts) {
		answer.Native = *first.Content.Parts
	}
	return answer, nil
}

// usage translates what was counted, nil if nothing was.
func usage(counted *usageMetadata) *agentgwv1.Usage {
	if counted == nil {
		return nil
	}
	thoughts := int64(counted.ThoughtsTokenCount)
	return &agentgwv1.Usage{
		InputTokens: int64(counted.PromptTokenCount), CachedTokens: int64(counted.CachedContentTokenCount),
		OutputTokens: int64(counted.CandidatesTokenCount) + thoughts, ReasoningTokens: thoughts,
	}
}

// arguments returns a call's arguments as the model wrote them, "" if there are none.
func (f *functionCall) arguments() string {
	if text := string(f.Args); text != "null" {
		return text
	}
	return ""
}

// returnable says whether a turn says something, and only what Google takes back: every call needs
// a name and an object, or else the turn is told as everybody else's is.
func returnable(parts []part) bool {
	something := false
	for i := range parts {
		p := &parts[i]
		if call := p.FunctionCall; call != nil {
			if arguments := call.Args; call.Name == "" || call.arguments() != "" && !bytes.HasPrefix(arguments, []byte("{")) {
				return false
			}
		}
		something = something || p.FunctionCall != nil || p.ThoughtSignature != "" || !p.Thought && p.Text != nil && *p.Text != ""
	}
	return something
}

// collect reads the parts of a candidate. Calls win over text.
func collect(answer *provider.Answer, parts []part) {
	var text strings.Builder
	said := false
	for i := range parts {
		p := &parts[i]
		switch call := p.FunctionCall; {
		case call != nil && (call.Name != "" || call.arguments() != ""):
			made := turn.Call{IDRule: turn.DrawID, Name: call.Name, Arguments: call.arguments()}
			if made.Arguments == "" {
				made.Arguments = "{}"
			}
			if call.ID != "" {
				made.ID = &call.ID
			}
			answer.Calls = append(answer.Calls, made)
		case p.Text != nil && !p.Thought:
			said = true
			text.WriteString(*p.Text)
		}
	}
	switch {
	case len(answer.Calls) > 0:
	case said:
		answer.Text = text.String()
		answer.Blank = answer.Text == "" && len(parts) == 1
	default:
		answer.Nothing = "the answer's candidate has neither text nor calls"
	}
}
