package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3/packages/respjson"
	sdk "github.com/openai/openai-go/v3/responses"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// The types of items that are read.
const (
	typeMessage   = "message"
	typeCall      = "function_call"
	typeReasoning = "reasoning"
)

// response is the body of an answer. The SDK's own type would read the tools that the provider
// repeats in each answer, which takes three times as long as all the rest, and holds 4 kB for each
// item, whatever it is.
type response struct {
	Status     sdk.ResponseStatus             `json:"status"`
	Output     *[]json.RawMessage             `json:"output"`
	Error      json.RawMessage                `json:"error"`
	Incomplete *sdk.ResponseIncompleteDetails `json:"incomplete_details"`
	Usage      *sdk.ResponseUsage             `json:"usage"`
}

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
	answer := &provider.Answer{Calls: said.calls, Usage: usage(read.Usage)}
	switch {
	case len(said.calls) > 0:
	case said.spoke:
		answer.Text = said.text.String()
	default:
		answer.Nothing = "the answer has neither text nor calls"
		if read.Incomplete != nil {
			answer.Nothing += ": " + cmp.Or(read.Incomplete.Reason, string(sdk.ResponseStatusIncomplete))
		}
	}
	if answer.Nothing != "" || !said.reasoned || said.barred {
		return answer, nil
	}
	var err error
	answer.Native, err = json.Marshal(said.native)
	return answer, err
}

// unfinished says why what there is of an answer is not the model's turn, nil if it is.
func (r *response) unfinished() error {
	if err := provider.Failed(r.Error, nil, nil); err != nil {
		return err
	}
	switch r.Status {
	case sdk.ResponseStatusFailed, sdk.ResponseStatusCancelled, sdk.ResponseStatusInProgress, sdk.ResponseStatusQueued:
		return fmt.Errorf("it is not complete: %s", r.Status)
	case sdk.ResponseStatusCompleted, sdk.ResponseStatusIncomplete:
	}
	return nil
}

// usage returns the usage, nil if the provider did not say. No number is below zero, as it would
// give budgets back what was spent.
func usage(u *sdk.ResponseUsage) *agentgwv1.Usage {
	if u == nil {
		return nil
	}
	return &agentgwv1.Usage{
		InputTokens: max(u.InputTokens, 0), CachedTokens: max(u.InputTokensDetails.CachedTokens, 0),
		OutputTokens: max(u.OutputTokens, 0), ReasoningTokens: max(u.OutputTokensDetails.ReasoningTokens, 0),
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
	var item sdk.ResponseFunctionToolCall
	if err := item.UnmarshalJSON(raw); err != nil {
		return err
	}
	id, err := openai.Text("call_id", item.JSON.CallID)
	if err != nil {
		return err
	}
	name, err := openai.Text("name", item.JSON.Name)
	if err != nil {
		return err
	}
	call := turn.Call{
		ID: id, Arguments: cmp.Or(openai.Stated(item.JSON.Arguments), "{}"), Cut: item.Status == sdk.ResponseFunctionToolCallStatusIncomplete,
	}
	if name != nil {
		call.Name = *name
	}
	t.calls = append(t.calls, call)
	stated := strings.HasPrefix(item.JSON.Arguments.Raw(), `"`)
	t.barred = t.barred || id == nil || *id == "" || !openai.Sendable(call.Name) || !stated
	return nil
}

// say reads the parts of a message: texts and refusals. It tells whether there were any.
func (t *spoken) say(raw json.RawMessage) (spoke bool, err error) {
	var item sdk.ResponseOutputMessage
	if err := item.UnmarshalJSON(raw); err != nil {
		return false, err
	}
	if err := openai.Given("content", item.JSON.Content); err != nil {
		return false, err
	}
	for i := range item.Content {
		part := &item.Content[i]
		for _, field := range []respjson.Field{part.JSON.Text, part.JSON.Refusal} {
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
	var item sdk.ResponseReasoningItem
	if err := item.UnmarshalJSON(raw); err != nil {
		return err
	}
	encrypted, err := openai.Text("encrypted_content", item.JSON.EncryptedContent)
	if err != nil || encrypted == nil || *encrypted == "" {
		return err
	}
	kept, err := sentBack(raw)
	t.pending = append(t.pending, kept)
	return err
}

// sentBack returns an item as it may stand in a request: the interface refuses fields that are null
// there. The SDK would leave out what it does not know.
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
