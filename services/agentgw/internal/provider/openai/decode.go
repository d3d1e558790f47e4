package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// legacyID is the id of a call in the old form, which has none.
const legacyID = "call_1"

// Decode implements provider.Codec. Only the first choice counts.
func (c Codec) Decode(body []byte) (*provider.Answer, error) {
	answer, err := c.decode(body)
	if err != nil {
		return nil, fmt.Errorf("%w: chat completion: %w", provider.ErrAnswer, err)
	}
	return answer, nil
}

// completion is what is read of an answer. The SDK's own type would read all the rest too, which
// takes as long again.
type completion struct {
	Choices *[]choice       `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Message      json.RawMessage `json:"message"`
	FinishReason json.RawMessage `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
}

func (c Codec) decode(body []byte) (*provider.Answer, error) {
	var read completion
	if err := provider.Unmarshal(body, &read); err != nil {
		return nil, err
	}
	if err := read.failed(c.Compat); err != nil {
		return nil, err
	}
	if read.Choices == nil {
		return nil, errors.New("no list of choices")
	}
	answer := &provider.Answer{}
	if err := count(answer, read.Usage); err != nil {
		return nil, err
	}
	return answer, choose(answer, *read.Choices)
}

// count reads the usage. No number is below zero, as it would give budgets back what was spent.
func count(answer *provider.Answer, raw json.RawMessage) error {
	if !stated(raw) {
		return nil
	}
	var u sdk.CompletionUsage
	if err := u.UnmarshalJSON(raw); err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	answer.Usage = &agentgwv1.Usage{
		InputTokens: max(u.PromptTokens, 0), CachedTokens: max(u.PromptTokensDetails.CachedTokens, 0),
		OutputTokens: max(u.CompletionTokens, 0), ReasoningTokens: max(u.CompletionTokensDetails.ReasoningTokens, 0),
	}
	return nil
}

// stated says whether a field is neither absent nor null.
func stated(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != respjson.Null }

// choose reads what the first choice says: calls, or else a text, or else a refusal.
func choose(answer *provider.Answer, choices []choice) error {
	if len(choices) == 0 {
		answer.Nothing = "the answer has no choice"
		return nil
	}
	first := &choices[0]
	if !stated(first.Message) {
		answer.Nothing = first.ended("the answer's choice has no message")
		return nil
	}
	var message sdk.ChatCompletionMessage
	if err := message.UnmarshalJSON(first.Message); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	var err error
	if answer.Calls, err = calls(&message); err != nil {
		return err
	}
	if len(answer.Calls) > 0 {
		answer.Native, err = kept(&message)
		return err
	}
	refusal, err := Text("refusal", message.JSON.Refusal)
	if err != nil {
		return err
	}
	answer.Text = content(message.JSON.Content)
	if answer.Text == "" && refusal != nil {
		answer.Text = *refusal
	}
	if answer.Text == "" {
		answer.Nothing = first.ended("the answer has neither text nor calls")
		answer.Blank = message.JSON.Content.Raw() == `""` && absent(message.JSON.ToolCalls)
	}
	return nil
}

// calls reads the calls of a message, in today's form or else, where there is no text, in the one
// of before.
func calls(message *sdk.ChatCompletionMessage) ([]turn.Call, error) {
	if err := Given("tool_calls", message.JSON.ToolCalls); err != nil {
		return nil, err
	}
	var list []turn.Call
	for i := range message.ToolCalls {
		made := &message.ToolCalls[i]
		id, err := Text("id", made.JSON.ID)
		if err != nil {
			return nil, err
		}
		call, err := called(id, made.JSON.Function, made.Function.JSON.Name, made.Function.JSON.Arguments)
		if err != nil {
			return nil, err
		}
		list = append(list, call)
	}
	if len(list) > 0 || !absent(message.JSON.Content) || absent(message.JSON.FunctionCall) {
		return list, nil
	}
	id, old := legacyID, &message.FunctionCall.JSON //nolint:staticcheck // deprecated at OpenAI, in use at servers of that age
	call, err := called(&id, message.JSON.FunctionCall, old.Name, old.Arguments)
	return append(list, call), err
}

func called(id *string, function, name, arguments respjson.Field) (turn.Call, error) {
	if err := Given("function", function); err != nil {
		return turn.Call{}, err
	}
	call := turn.Call{ID: id, Arguments: Stated(arguments)}
	text, err := Text("name", name)
	if text != nil {
		call.Name = *text
	}
	return call, err
}

// content reads a text, or a list of parts with texts, which some servers send and the SDK does not
// know. Whatever else there is has none.
func content(field respjson.Field) string {
	if absent(field) {
		return ""
	}
	raw := []byte(field.Raw())
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return ""
	}
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(part.Text)
	}
	return b.String()
}
