package dialect

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
)

// Exception types that the original raises.
const (
	exceptionAttribute  = "AttributeError"
	exceptionJSON       = "JSONDecodeError"
	exceptionKey        = "KeyError"
	exceptionRuntime    = "RuntimeError"
	exceptionType       = "TypeError"
	exceptionValidation = "ValidationError"
	exceptionValue      = "ValueError"
)

// completion is the body of an answer.
type completion struct {
	Choices *[]choice       `json:"choices"`
	Error   json.RawMessage `json:"error"`
	// Usage stays raw: an invalid one does not invalidate the answer.
	Usage json.RawMessage `json:"usage"`
}

type choice struct {
	Text         *string         `json:"text"`
	FinishReason json.RawMessage `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
}

// Decode implements provider.Codec. Only the first choice counts.
func (c Codec) Decode(body []byte) (*provider.Answer, error) {
	var read completion
	if err := lenient.Unmarshal(body, &read, openai.JoinChunks); err != nil {
		return nil, fmt.Errorf("%w: no completion: %w", provider.ErrAnswer, err)
	}
	first, chosen := choice{}, read.Choices != nil && len(*read.Choices) > 0
	if chosen {
		first = (*read.Choices)[0]
	}
	if err := openai.ServerError(read.Error, first.Error, first.FinishReason); err != nil {
		return nil, fmt.Errorf("%w: completion: %w", provider.ErrAnswer, err)
	}
	answer := &provider.Answer{}
	switch {
	case read.Choices == nil:
		return nil, fmt.Errorf("%w: a completion without choices", provider.ErrAnswer)
	case !chosen:
		answer.EmptyReason = "the answer has no choice"
	case first.Text == nil:
		answer.EmptyReason = "the answer's choice has no text"
	default:
		text := *first.Text
		if !c.compat {
			_, text = lenient.SplitThinking(text)
		}
		answer = c.parse(text)
		if reason := string(first.FinishReason); reason == "" || reason == "null" {
			answer.Raised = &provider.Raised{Exception: exceptionValidation, Detail: "the answer does not say why it ends"}
		}
		if answer.Text == "" && len(answer.Calls) == 0 && answer.EmptyReason == "" {
			answer.EmptyReason = "the answer is empty"
		}
	}
	answer.Refusal = lenient.Refusal(openai.FinishReason(first.FinishReason))
	answer.Usage = openai.UsageFields.Read(read.Usage)
	return answer, nil
}

// reader collects the calls of an answer.
type reader struct {
	answer provider.Answer
	// id returns the id of the n-th call, which calls a tool.
	id func(n int, tool string) string
}

// setRaised records the original's exception. The first one counts.
func (r *reader) setRaised(exception, detail string) {
	if r.answer.Raised == nil {
		r.answer.Raised = &provider.Raised{Exception: exception, Detail: detail}
	}
}

// addFault adds a call that cannot be made, as a call of a tool named after the fault. The role
// gets an error about that tool. The model's text stays in the conversation as its argument.
func (r *reader) addFault(fault, exception, source string) {
	r.setRaised(exception, strings.ReplaceAll(fault, "_", " "))
	r.add(fault, python.Str(source))
}

// addCall adds a call with JSON arguments of the model.
func (r *reader) addCall(name, arguments python.Value, source string) {
	tool, ok := name.AsStr()
	if !ok {
		r.addFault("tool_name_is_no_text", exceptionValidation, source)
		return
	}
	r.add(tool, arguments)
}

// add adds a call.
func (r *reader) add(tool string, arguments python.Value) {
	id := r.id(len(r.answer.Calls), tool)
	r.answer.Calls = append(r.answer.Calls, turn.Call{ID: &id, IDRule: turn.FixedID, Name: tool, Arguments: python.JSON(arguments)})
}
