package row

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

var (
	// ErrColumn is returned for a column that the message's sender and recipient do not have.
	ErrColumn = errors.New("only messages to and from the execution environment have it")
	// ErrTrace is returned for a trace that no call leaves.
	ErrTrace = errors.New(`expected {"tool_name": text, "arguments": object, "result": value} as Python's json.dumps writes it`)
)

// SetBody reads a row as the body of a message, whose sender and recipient are set. It never loses
// anything: Of returns the row again. Errors name the column and wrap ErrColumn or ErrTrace.
func (r Row) SetBody(m *worldv1.Message) error {
	const environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	switch {
	case m.GetSender() == environment:
		result, err := r.result()
		m.Body = &worldv1.Message_Result{Result: result}
		return err
	case len(r.ToolTrace) > 0:
		return fmt.Errorf("tool_trace: %w", ErrColumn)
	case r.Exception != nil:
		return fmt.Errorf("tool_call_exception: %w", ErrColumn)
	case m.GetRecipient() == environment && r.Content != nil:
		r.setSource(m)
		return nil
	case r.ToolCallID != nil:
		return fmt.Errorf("openai_tool_call_id: %w", ErrColumn)
	case r.FunctionName != nil:
		return fmt.Errorf("openai_function_name: %w", ErrColumn)
	case r.Content != nil:
		m.Body = &worldv1.Message_Text{Text: *r.Content}
	}
	return nil
}

// setSource reads source as a call, or as code if it renders otherwise.
func (r Row) setSource(m *worldv1.Message) {
	if call, ok := ParseCall(*r.Content); ok {
		call.Id, call.Name = r.ToolCallID, r.FunctionName
		variable := call.Variable
		if call.Variable = nil; messagetext.Source(call) != *r.Content {
			call.Variable = variable
		}
		if messagetext.Source(call) == *r.Content {
			m.Body = &worldv1.Message_Call{Call: call}
			return
		}
	}
	m.Body = &worldv1.Message_Code{Code: &worldv1.Code{Source: *r.Content, Id: r.ToolCallID, Name: r.FunctionName}}
}

// ParseCall reads the original's source of one call: the tool, its arguments and the variable. It
// is for importers; ok is false for any other source.
func ParseCall(source string) (call *worldv1.ToolCall, ok bool) {
	variable, tool, arguments, ok := parseCall(source)
	if !ok {
		return nil, false
	}
	call = &worldv1.ToolCall{Tool: tool, Variable: &variable}
	if call.ArgumentsJson = python.JSON(arguments); !utf8.ValidString(call.ArgumentsJson) { // a lone surrogate
		call.ArgumentsJson = python.ASCIIJSON(arguments)
	}
	if quoted, isText := arguments.AsStr(); isText && messagetext.IsObject(quoted) { // as JSON it would be the object
		text := strings.ToValidUTF8(quoted, "\uFFFD")
		call.ArgumentsText, call.ArgumentsJson = &text, ""
	}
	return call, true
}

func (r Row) result() (*worldv1.ToolResult, error) {
	result := &worldv1.ToolResult{Id: r.ToolCallID, Name: r.FunctionName, Text: r.Content, Exception: r.Exception}
	for i, text := range r.ToolTrace {
		trace, err := readTrace(text)
		if err != nil {
			return result, fmt.Errorf("tool_trace[%d]: %w", i, err)
		}
		result.Traces = append(result.Traces, trace)
	}
	return result, nil
}

func readTrace(text string) (*worldv1.ToolTrace, error) {
	value, err := python.ParseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTrace, err)
	}
	dict, ok := value.AsDict()
	if !ok {
		return nil, ErrTrace
	}
	member := func(key string) python.Value {
		v, found := dict.Get(key)
		ok = ok && found
		return v
	}
	tool, isText := member("tool_name").AsStr()
	trace := &worldv1.ToolTrace{
		Tool: tool, ArgumentsJson: python.JSON(member("arguments")), ResultJson: python.JSON(member("result")),
	}
	if !ok || !isText || traceText(trace) != text {
		return nil, ErrTrace
	}
	return trace, nil
}
