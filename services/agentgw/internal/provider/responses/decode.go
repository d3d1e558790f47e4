package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
)

// Decode implements provider.Codec. It keeps the native form of a turn whose reasoning can be sent
// back.
func (Codec) Decode(body []byte) (*provider.Answer, error) {
	answer, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("%w: response: %w", provider.ErrAnswer, err)
	}
	return answer, nil
}

func decode(body []byte) (*provider.Answer, error) {
	var read response
	if err := lenient.Unmarshal(body, &read, joinEvents); err != nil {
		return nil, err
	}
	if err := read.unfinished(); err != nil {
		return nil, err
	}
	if read.Output == nil {
		return nil, errors.New("no list of output items")
	}
	r := outputReader{}
	for i, raw := range *read.Output {
		if err := r.add(raw); err != nil {
			return nil, fmt.Errorf("item %d of the output: %w", i, err)
		}
	}
	if read.Incomplete != nil && r.endsWithCall && lenient.CutOff(openai.FinishReason(read.Incomplete.Reason)) {
		lenient.MarkCut(r.calls)
	}
	answer := &provider.Answer{Calls: r.calls, Usage: usageFields.Read(read.Usage)}
	if read.Incomplete != nil {
		answer.Refusal = lenient.Refusal(openai.FinishReason(read.Incomplete.Reason))
	}
	if text := r.refusal.String(); answer.Refusal == "" && text != "" {
		answer.Refusal = lenient.JoinReason(lenient.RefusalText, text)
	}
	switch {
	case len(r.calls) > 0:
	case r.hasText:
		answer.Text = r.text.String()
	default:
		answer.EmptyReason = "the answer has neither text nor calls"
		if read.Incomplete != nil {
			answer.EmptyReason += ": " + cmp.Or(openai.FinishReason(read.Incomplete.Reason), statusIncomplete)
		}
	}
	if answer.EmptyReason != "" || !r.reasoned || r.unsendable {
		return answer, nil
	}
	native, err := json.Marshal(r.native)
	answer.Native = native
	return answer, err
}

// unfinished returns why an answer is not the model's turn, nil if it is.
func (r *response) unfinished() error {
	if err := openai.ServerError(r.Error, nil, nil); err != nil {
		return err
	}
	switch r.Status {
	case statusFailed, statusCancelled, statusInProgress, statusQueued:
		return fmt.Errorf("%w: it is not complete: %s", provider.ErrServer, r.Status)
	default:
		return nil
	}
}

// outputReader collects the items of an answer.
type outputReader struct {
	calls   []turn.Call
	text    strings.Builder
	hasText bool
	refusal strings.Builder // the refusals among the text
	// native are the items to send back. Reasoning is pending until the item that follows from it,
	// because the provider refuses it alone.
	native, pending []json.RawMessage
	reasoned        bool
	// endsWithCall: the last item so far is a call.
	endsWithCall bool
	// unsendable: the provider would refuse an item.
	unsendable bool
}

// add reads an item: a call, a message or reasoning. It ignores other items.
func (t *outputReader) add(raw json.RawMessage) error {
	var item struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &item); err != nil {
		return err
	}
	t.endsWithCall = item.Type == typeCall
	switch item.Type {
	case typeCall:
		if err := t.call(raw); err != nil {
			return err
		}
	case typeMessage:
		if spoke, err := t.message(raw); err != nil || !spoke {
			return err
		}
	case typeReasoning:
		return t.reasoning(raw)
	default:
		return nil
	}
	cleaned, err := withoutNulls(raw)
	t.reasoned = t.reasoned || len(t.pending) > 0
	t.native = append(append(t.native, t.pending...), cleaned)
	t.pending = nil
	return err
}

// call reads a call. A call without an id, with an invalid name, or with arguments that are no text
// cannot be sent back verbatim.
func (t *outputReader) call(raw json.RawMessage) error {
	var item responseCall
	if err := json.Unmarshal(raw, &item); err != nil {
		return err
	}
	id := lenient.ReadID(item.CallID)
	name, err := openai.Text("name", item.Name)
	if err != nil {
		return err
	}
	call := turn.Call{
		ID: id, Arguments: cmp.Or(lenient.ReadArguments(item.Arguments), "{}"), Truncated: openai.FinishReason(item.Status) == statusIncomplete,
	}
	if name != nil {
		call.Name = *name
	}
	t.calls = append(t.calls, call)
	isText := bytes.HasPrefix(item.Arguments, []byte(`"`)) && bytes.HasPrefix(item.CallID, []byte(`"`))
	t.unsendable = t.unsendable || id == nil || *id == "" || !openai.ValidName(call.Name) || !isText
	return nil
}

// message reads the parts of a message, texts and refusals, and reports whether there were any.
func (t *outputReader) message(raw json.RawMessage) (spoke bool, err error) {
	var item responseMessage
	if err := json.Unmarshal(raw, &item); err != nil {
		return false, err
	}
	for _, part := range item.Content {
		text, err := openai.Text("text", part.Text)
		if err != nil {
			return false, err
		}
		refusal, err := openai.Text("refusal", part.Refusal)
		if err != nil {
			return false, err
		}
		for _, said := range []*string{text, refusal} {
			if said != nil {
				spoke = true
				t.text.WriteString(*said)
			}
		}
		if refusal != nil {
			t.refusal.WriteString(*refusal)
		}
	}
	t.hasText = t.hasText || spoke
	return spoke, nil
}

// reasoning keeps encrypted reasoning. Reasoning with only an id cannot be resolved, because
// requests store nothing.
func (t *outputReader) reasoning(raw json.RawMessage) error {
	var item responseReasoning
	if err := json.Unmarshal(raw, &item); err != nil {
		return err
	}
	encrypted, err := openai.Text("encrypted_content", item.Encrypted)
	if err != nil || encrypted == nil || *encrypted == "" {
		return err
	}
	cleaned, err := withoutNulls(raw)
	t.pending = append(t.pending, cleaned)
	return err
}

// withoutNulls removes null fields from an item. The interface refuses them in requests.
func withoutNulls(raw json.RawMessage) (json.RawMessage, error) {
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
