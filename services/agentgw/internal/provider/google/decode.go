package google

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// Decode implements provider.Codec. Only the first candidate counts. It always keeps the native
// form: later requests carry texts beside calls and thought signatures.
func (c Codec) Decode(body []byte) (*provider.Answer, error) {
	var read response
	if err := lenient.Unmarshal(body, &read, joinChunks); err != nil {
		return nil, fmt.Errorf("%w: no generated content: %w", provider.ErrAnswer, err)
	}
	if read.Candidates == nil && read.PromptFeedback == nil && !lenient.Present(read.UsageMetadata) {
		return nil, fmt.Errorf("%w: generated content without candidates", provider.ErrAnswer)
	}
	answer := &provider.Answer{Usage: usageFields.Read(read.UsageMetadata)}
	if len(read.Candidates) == 0 {
		answer.EmptyReason = "the answer has no candidate"
		if read.PromptFeedback != nil && read.PromptFeedback.BlockReason != "" {
			answer.EmptyReason += ": " + string(read.PromptFeedback.BlockReason)
			answer.Refusal = lenient.JoinReason(string(read.PromptFeedback.BlockReason), textOf(read.PromptFeedback.BlockReasonMessage))
		}
		return answer, nil
	}
	first := &read.Candidates[0]
	answer.Refusal = lenient.Refusal(string(first.FinishReason), textOf(first.FinishMessage))
	if first.Content.Parts == nil {
		answer.EmptyReason = "the answer's candidate has no parts: " + string(first.FinishReason)
		return answer, nil
	}
	var parts lenient.List[part]
	if err := json.Unmarshal(*first.Content.Parts, &parts); err != nil {
		return nil, fmt.Errorf("%w: a candidate whose parts are no list: %w", provider.ErrAnswer, err)
	}
	collect(answer, parts)
	if answer.EmptyReason != "" {
		answer.EmptyReason += ": " + string(first.FinishReason)
		return answer, nil
	}
	if n := len(parts); !c.Compat && n > 0 && parts[n-1].FunctionCall != nil && lenient.CutOff(string(first.FinishReason)) {
		lenient.MarkCut(answer.Calls)
	}
	if bytes.HasPrefix(*first.Content.Parts, []byte("[")) && canReplay(parts) {
		answer.Native = *first.Content.Parts
	}
	return answer, nil
}

// textOf returns a decoded text, "" for any other value.
func textOf(value any) string {
	text, _ := value.(string)
	return text
}

// arguments returns a call's arguments verbatim, "" if there are none.
func (f *functionCall) arguments() string {
	if text := string(f.Args); text != "null" {
		return text
	}
	return ""
}

// canReplay reports whether Google accepts a turn in later requests: it has content, and every call
// has a name and an object. Other turns are sent in translated form.
func canReplay(parts []part) bool {
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

// collect reads the parts of a candidate. Calls take precedence over text.
func collect(answer *provider.Answer, parts []part) {
	var text strings.Builder
	hasText := false
	for i := range parts {
		p := &parts[i]
		switch call := p.FunctionCall; {
		case call != nil && (call.Name != "" || call.arguments() != ""):
			made := turn.Call{IDRule: turn.DeriveID, Name: call.Name, Arguments: call.arguments()}
			if made.Arguments == "" {
				made.Arguments = "{}"
			}
			if call.ID != "" {
				id := string(call.ID)
				made.ID = &id
			}
			answer.Calls = append(answer.Calls, made)
		case p.Text != nil && !p.Thought:
			hasText = true
			text.WriteString(*p.Text)
		}
	}
	switch {
	case len(answer.Calls) > 0:
	case hasText:
		answer.Text = text.String()
		answer.EmptyText = answer.Text == "" && len(parts) == 1
	default:
		answer.EmptyReason = "the answer's candidate has neither text nor calls"
	}
}
