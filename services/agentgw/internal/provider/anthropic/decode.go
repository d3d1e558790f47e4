package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const stopMaxTokens = "max_tokens"

type answered struct {
	Type       string           `json:"type"`
	Content    *json.RawMessage `json:"content"`
	StopReason *string          `json:"stop_reason"`
	Usage      *struct {
		Input   int64 `json:"input_tokens"`
		Created int64 `json:"cache_creation_input_tokens"`
		Cached  int64 `json:"cache_read_input_tokens"`
		Output  int64 `json:"output_tokens"`
	} `json:"usage"`
}

type answeredBlock struct {
	Type  string          `json:"type"`
	Text  *string         `json:"text"`
	ID    *string         `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// Decode implements provider.Codec. The turn's own form is kept if it holds reasoning, which the interface wants back.
func (Codec) Decode(body []byte) (*provider.Answer, error) {
	var read answered
	if err := json.Unmarshal(body, &read); err != nil {
		return nil, fmt.Errorf("%w: no message: %w", provider.ErrAnswer, err)
	}
	if read.Content == nil && read.StopReason == nil {
		return nil, fmt.Errorf("%w: a message without content", provider.ErrAnswer)
	}
	answer := &provider.Answer{}
	if u := read.Usage; u != nil {
		answer.Usage = &agentgwv1.Usage{InputTokens: u.Input + u.Created + u.Cached, CachedTokens: u.Cached, OutputTokens: u.Output}
	}
	var blocks []answeredBlock
	if read.Content != nil {
		if err := json.Unmarshal(*read.Content, &blocks); err != nil {
			return nil, fmt.Errorf("%w: a message whose content is no list of blocks: %w", provider.ErrAnswer, err)
		}
	}
	cut := read.StopReason != nil && *read.StopReason == stopMaxTokens
	var text strings.Builder
	said, reasoned := false, false
	for i, b := range blocks {
		switch b.Type {
		case typeUse:
			answer.Calls = append(answer.Calls, provider.Call{
				ID: b.ID, Name: b.Name, Arguments: b.input(), Cut: cut && i == len(blocks)-1,
			})
		case typeText:
			said = true
			if b.Text != nil {
				text.WriteString(*b.Text)
			}
		case "thinking", "redacted_thinking":
			reasoned = true
		}
	}
	switch {
	case len(answer.Calls) > 0:
	case said:
		answer.Text = text.String()
	default:
		answer.Nothing = "the answer has neither text nor calls"
	}
	if reasoned && (len(answer.Calls) > 0 || answer.Text != "") {
		var err error
		if answer.Native, err = native(*read.Content, blocks); err != nil {
			return nil, fmt.Errorf("%w: %w", provider.ErrAnswer, err)
		}
	}
	return answer, nil
}

// native returns a content as it can be sent back: as it was, without empty texts, which the interface refuses.
func native(raw json.RawMessage, blocks []answeredBlock) ([]byte, error) {
	empty := func(b answeredBlock) bool { return b.Type == typeText && (b.Text == nil || *b.Text == "") }
	if !slices.ContainsFunc(blocks, empty) {
		return raw, nil
	}
	var all, kept []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	for i, b := range blocks {
		if !empty(b) {
			kept = append(kept, all[i])
		}
	}
	return json.Marshal(kept)
}

// input returns a call's arguments as they were written.
func (b answeredBlock) input() string {
	if len(b.Input) == 0 {
		return "null"
	}
	return string(b.Input)
}
