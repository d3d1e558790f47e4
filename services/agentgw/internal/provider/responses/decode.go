package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"
)

// Decode implements provider.Codec. The turn's own form is kept if it holds reasoning that can be
// sent back.
func (Codec) Decode(body []byte) (*provider.Answer, error) {
	answer, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("%w: response: %w", provider.ErrAnswer, err)
	}
	return answer, nil
}

func decode(body []byte) (*provider.Answer, error) {
	var read response
	if err := provider.Unmarshal(body, &read); err != nil {
		return nil, err
	}
	if err := read.unfinished(); err != nil {
		return nil, err
	}
	if read.Output == nil {
		return nil, errors.New("no list of output items")
	}
	said := spoken{}
	for i, raw := range *read.Output {
		if err := said.add(raw); err != nil {
			return nil, fmt.Errorf("item %d of the output: %w", i, err)
		}
	}
	usage, err := usageFields.Read(read.Usage)
	if err != nil {
		return nil, err
	}
	answer := &provider.Answer{Calls: said.calls, Usage: usage}
	switch {
	case len(said.calls) > 0:
	case said.spoke:
		answer.Text = said.text.String()
	default:
		answer.Nothing = "the answer has neither text nor calls"
		if read.Incomplete != nil {
			answer.Nothing += ": " + cmp.Or(provider.Reason(read.Incomplete.Reason), statusIncomplete)
		}
	}
	if answer.Nothing != "" || !said.reasoned || said.barred {
		return answer, nil
	}
	answer.Native, err = json.Marshal(said.native)
	return answer, err
}

// unfinished says why what there is of an answer is not the model's turn, nil if it is.
func (r *response) unfinished() error {
	if err := provider.Failed(r.Error, nil, nil); err != nil {
		return err
	}
	switch r.Status {
	case statusFailed, statusCancelled, statusInProgress, statusQueued:
		return fmt.Errorf("it is not complete: %s", r.Status)
	default:
		return nil
	}
}

// spoken is what the items of an answer say.
type spoken struct {
	calls []turn.Call
	text  strings.Builder
	spoke bool
	// native are the items to send back. Reasoning is pending until what it led to: the provider
	// refuses it alone.
	native, pending []json.RawMessage
	reasoned        bool
	// barred says that the provider would refuse an item.
	barred bool
}

// add reads an item: a call, a message, reasoning, or something else, which is left out.
func (t *spoken) add(raw json.RawMessage) error {
	var item struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &item); err != nil {
		return err
	}
	switch item.Type {
	case typeCall:
		if err := t.call(raw); err != nil {
			return err
		}
	case typeMessage:
		if spoke, err := t.say(raw); err != nil || !spoke {
			return err
		}
	case typeReasoning:
		return t.reason(raw)
	default:
		return nil
	}
	kept, err := sentBack(raw)
	t.reasoned = t.reasoned || len(t.pending) > 0
	t.native = append(append(t.native, t.pending...), kept)
	t.pending = nil
	return err
}

// call reads a call. One without an id, with a name that cannot be one or with arguments that are
// no text is not sent back as it is.
func (t *spoken) call(raw json.RawMessage) error {
	var item responseCall
	if err := json.Unmarshal(raw, &item); err != nil {
		return err
	}
	id, err := openai.Text("call_id", item.CallID)
	if err != nil {
		return err
	}
	name, err := openai.Text("name", item.Name)
	if err != nil {
		return err
	}
	call := turn.Call{
		ID: id, Arguments: cmp.Or(openai.Stated(item.Arguments), "{}"), Cut: provider.Reason(item.Status) == statusIncomplete,
	}
	if name != nil {
		call.Name = *name
	}
	t.calls = append(t.calls, call)
	stated := bytes.HasPrefix(item.Arguments, []byte(`"`))
	t.barred = t.barred || id == nil || *id == "" || !openai.Sendable(call.Name) || !stated
	return nil
}

// say reads the parts of a message: texts and refusals. It tells whether there were any.
func (t *spoken) say(raw json.RawMessage) (spoke bool, err error) {
	var item responseMessage
	if err := json.Unmarshal(raw, &item); err != nil {
		return false, err
	}
	for _, part := range item.Content {
		for _, field := range []json.RawMessage{part.Text, part.Refusal} {
			text, err := openai.Text("text", field)
			if err != nil {
				return false, err
			}
			if text != nil {
				spoke = true
				t.text.WriteString(*text)
			}
		}
	}
	t.spoke = t.spoke || spoke
	return spoke, nil
}

// reason keeps reasoning. What is known by its id only can be found nowhere, as nothing is stored.
func (t *spoken) reason(raw json.RawMessage) error {
	var item responseReasoning
	if err := json.Unmarshal(raw, &item); err != nil {
		return err
	}
	encrypted, err := openai.Text("encrypted_content", item.Encrypted)
	if err != nil || encrypted == nil || *encrypted == "" {
		return err
	}
	kept, err := sentBack(raw)
	t.pending = append(t.pending, kept)
	return err
}

// sentBack returns an item as it may stand in a request: the interface refuses fields that are null
// there.
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
