package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	statusFailed     = "failed"
	statusIncomplete = "incomplete"
)

// response is the body of an answer.
type response struct {
	Status string             `json:"status"`
	Output *[]json.RawMessage `json:"output"`
	Error  *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *struct {
		Input        int64 `json:"input_tokens"`
		Output       int64 `json:"output_tokens"`
		InputDetails struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

// item is one part of an answer: a call, a message, reasoning, or something else, which is not read.
type item struct {
	Type      string          `json:"type"`
	Status    string          `json:"status"`
	CallID    *string         `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Content   json.RawMessage `json:"content"`
	Encrypted string          `json:"encrypted_content"`
}

// Decode implements provider.Codec. The turn's own form is kept if it holds reasoning that can be sent back.
func (Codec) Decode(body []byte) (*provider.Answer, error) {
	var read response
	if err := json.Unmarshal(body, &read); err != nil {
		return nil, fmt.Errorf("%w: no response: %w", provider.ErrAnswer, err)
	}
	if read.Status == statusFailed {
		detail := "no details"
		if read.Error != nil {
			detail = strings.TrimSpace(read.Error.Code + " " + read.Error.Message)
		}
		return nil, fmt.Errorf("%w: the response failed: %s", provider.ErrAnswer, detail)
	}
	if read.Output == nil {
		return nil, fmt.Errorf("%w: a response without output", provider.ErrAnswer)
	}
	said := turn{}
	for i, raw := range *read.Output {
		if err := said.add(raw); err != nil {
			return nil, fmt.Errorf("%w: item %d of the output: %w", provider.ErrAnswer, i, err)
		}
	}
	answer := &provider.Answer{Calls: said.calls}
	if u := read.Usage; u != nil {
		answer.Usage = &agentgwv1.Usage{
			InputTokens: u.Input, CachedTokens: u.InputDetails.Cached,
			OutputTokens: u.Output, ReasoningTokens: u.OutputDetails.Reasoning,
		}
	}
	switch {
	case len(said.calls) > 0:
	case said.spoke:
		answer.Text = said.text.String()
	default:
		answer.Nothing = "the answer has neither text nor calls"
		if read.Incomplete != nil {
			answer.Nothing += ": " + cmp.Or(read.Incomplete.Reason, statusIncomplete)
		}
	}
	if said.reasoned && answer.Nothing == "" {
		var err error
		if answer.Native, err = json.Marshal(said.native); err != nil {
			return nil, fmt.Errorf("%w: %w", provider.ErrAnswer, err)
		}
	}
	return answer, nil
}

// turn is what the items of an answer say.
type turn struct {
	calls    []provider.Call
	text     strings.Builder
	spoke    bool
	reasoned bool
	native   []json.RawMessage
}

func (t *turn) add(raw json.RawMessage) error {
	var read item
	if err := json.Unmarshal(raw, &read); err != nil {
		return err
	}
	switch read.Type {
	case typeCall:
		t.calls = append(t.calls, provider.Call{
			ID: read.CallID, Name: read.Name, Arguments: cmp.Or(read.Arguments, "{}"), Cut: read.Status == statusIncomplete,
		})
	case typeMessage:
		if err := t.say(read.Content); err != nil {
			return err
		}
	case typeReasoning:
		if read.Encrypted == "" {
			return nil // known by its id only, under which nothing is stored
		}
		t.reasoned = true
	default:
		return nil
	}
	kept, err := sentBack(raw)
	t.native = append(t.native, kept)
	return err
}

// say reads the parts of a message: texts and refusals.
func (t *turn) say(content json.RawMessage) error {
	if len(content) == 0 {
		return nil
	}
	var parts []struct {
		Text    *string `json:"text"`
		Refusal *string `json:"refusal"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		for _, text := range []*string{part.Text, part.Refusal} {
			if text != nil {
				t.spoke = true
				t.text.WriteString(*text)
			}
		}
	}
	return nil
}

// sentBack returns an item as it may stand in a request: the interface refuses fields that are null there.
func sentBack(raw json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	for name, value := range fields {
		if bytes.Equal(value, []byte("null")) {
			delete(fields, name)
		}
	}
	return json.Marshal(fields)
}
