package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// legacyID is the id of a call in the legacy form, which has none.
const legacyID = "call_1"

// Decode implements provider.Codec. Only the first choice counts.
func (c Codec) Decode(body []byte) (*provider.Answer, error) {
	answer, err := c.decode(body)
	if err != nil {
		return nil, fmt.Errorf("%w: chat completion: %w", provider.ErrAnswer, err)
	}
	return answer, nil
}

func (c Codec) decode(body []byte) (*provider.Answer, error) {
	var read completion
	if err := lenient.Unmarshal(body, &read, JoinChunks); err != nil {
		return nil, err
	}
	if err := read.serverError(c.Compat); err != nil {
		return nil, err
	}
	if read.Choices == nil {
		return nil, errors.New("no list of choices")
	}
	answer := &provider.Answer{Usage: UsageFields.Read(read.Usage)}
	return answer, c.readChoice(answer, *read.Choices)
}

// readChoice reads the first choice: calls, or else a text, or else a refusal.
func (c Codec) readChoice(answer *provider.Answer, choices []choice) error {
	if len(choices) == 0 {
		answer.EmptyReason = "the answer has no choice"
		return nil
	}
	first := &choices[0]
	answer.Refusal = lenient.Refusal(FinishReason(first.FinishReason), lenient.FilteredCategories(first.Filter))
	if !lenient.Present(first.Message) {
		answer.EmptyReason = first.withReason("the answer's choice has no message")
		return nil
	}
	var message responseMessage
	if err := json.Unmarshal(first.Message, &message); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	var err error
	text := lenient.ReadText(message.Content)
	if answer.Calls, err = calls(&message, text); err != nil {
		return err
	}
	if answer.Native, err = encodeNative(&message, text); err != nil {
		return err
	}
	answer.NativeLacksIDs = answer.Native != nil
	if len(answer.Calls) > 0 {
		if !c.Compat && lenient.CutOff(FinishReason(first.FinishReason)) {
			lenient.MarkCut(answer.Calls)
		}
		return nil
	}
	answer.Text = text
	if refusal := string(message.Refusal); refusal != "" {
		answer.Text, answer.Refusal = cmp.Or(text, refusal), cmp.Or(answer.Refusal, lenient.JoinReason(lenient.RefusalText, refusal))
	}
	if answer.Text == "" {
		answer.EmptyReason = first.withReason("the answer has neither text nor calls")
		answer.EmptyText = string(message.Content) == `""` && message.ToolCalls == nil
	}
	return nil
}

// calls reads the calls of a message in the current form. A message without text may have the
// legacy form.
func calls(message *responseMessage, text string) ([]turn.Call, error) {
	var list []turn.Call
	for _, fields := range message.ToolCalls {
		made := fields["function"]
		if !lenient.Present(made) { // some servers have its fields beside the id
			var err error
			if made, err = json.Marshal(fields); err != nil {
				return nil, err
			}
		}
		call, err := readCall(lenient.ReadID(fields["id"]), made)
		if err != nil {
			return nil, err
		}
		list = append(list, call)
	}
	if len(list) > 0 || text != "" || !lenient.Present(message.FunctionCall) {
		return list, nil
	}
	id := legacyID
	call, err := readCall(&id, message.FunctionCall)
	return append(list, call), err
}

func readCall(id *string, raw json.RawMessage) (turn.Call, error) {
	var made responseFunction
	if lenient.Present(raw) {
		if err := json.Unmarshal(raw, &made); err != nil {
			return turn.Call{}, fmt.Errorf("function: %w", err)
		}
	}
	call := turn.Call{ID: id, Arguments: lenient.ReadArguments(made.Arguments)}
	text, err := Text("name", made.Name)
	if text != nil {
		call.Name = *text
	}
	return call, err
}
