package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
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
	// Usage is read by itself: an answer is none the worse for it.
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
	if err := provider.Unmarshal(body, &read); err != nil {
		return nil, fmt.Errorf("%w: no completion: %w", provider.ErrAnswer, err)
	}
	first, chosen := choice{}, read.Choices != nil && len(*read.Choices) > 0
	if chosen {
		first = (*read.Choices)[0]
	}
	if err := provider.Failed(read.Error, first.Error, first.FinishReason); err != nil {
		return nil, fmt.Errorf("%w: completion: %w", provider.ErrAnswer, err)
	}
	answer := &provider.Answer{}
	switch {
	case read.Choices == nil:
		return nil, fmt.Errorf("%w: a completion without choices", provider.ErrAnswer)
	case !chosen:
		answer.Nothing = "the answer has no choice"
	case first.Text == nil:
		answer.Nothing = "the answer's choice has no text"
	default:
		answer = c.parse(*first.Text)
		if reason := string(first.FinishReason); reason == "" || reason == "null" {
			answer.Raised = &provider.Raised{Exception: exceptionValidation, Detail: "the answer does not say why it ends"}
		}
		if answer.Text == "" && len(answer.Calls) == 0 && answer.Nothing == "" {
			answer.Nothing = "the answer is empty"
		}
	}
	answer.Usage = usage(read.Usage)
	return answer, nil
}

// usage reads what was counted, nil if none of it is a number. Servers of all kinds write it.
func usage(raw json.RawMessage) *agentgwv1.Usage {
	var counted struct {
		Prompt     json.RawMessage `json:"prompt_tokens"`
		Completion json.RawMessage `json:"completion_tokens"`
	}
	if err := json.Unmarshal(raw, &counted); err != nil {
		return nil
	}
	input, read := tokens(counted.Prompt)
	output, wrote := tokens(counted.Completion)
	if !read && !wrote {
		return nil
	}
	return &agentgwv1.Usage{InputTokens: input, OutputTokens: output}
}

// tokens reads a number, which may be written as a text, and bounds it to what can be added up. No
// number is below zero, as it would give budgets back what was spent.
func tokens(raw json.RawMessage) (int64, bool) {
	const most = 1 << 40
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(n) {
		return 0, false
	}
	return int64(max(min(n, most), 0)), true
}

// reader gathers the calls of an answer.
type reader struct {
	answer provider.Answer
	// id names the calls: the n-th gets what id returns for n and its tool.
	id func(n int, tool string) string
}

// raise notes what the original does about this answer; its first exception ends it there.
func (r *reader) raise(exception, detail string) {
	if r.answer.Raised == nil {
		r.answer.Raised = &provider.Raised{Exception: exception, Detail: detail}
	}
}

// wrong notes a call that cannot be made. The role gets an error about a tool whose name says what
// is wrong, and what it wrote stays in the conversation as that tool's argument.
func (r *reader) wrong(fault, exception, source string) {
	r.raise(exception, strings.ReplaceAll(fault, "_", " "))
	r.add(fault, python.Str(source))
}

// call notes a call with arguments that the model wrote as JSON.
func (r *reader) call(name, arguments python.Value, source string) {
	tool, ok := name.AsStr()
	if !ok {
		r.wrong("tool_name_is_no_text", exceptionValidation, source)
		return
	}
	r.add(tool, arguments)
}

// add notes a call.
func (r *reader) add(tool string, arguments python.Value) {
	id := r.id(len(r.answer.Calls), tool)
	r.answer.Calls = append(r.answer.Calls, turn.Call{ID: &id, Name: tool, Arguments: python.JSON(arguments)})
}
