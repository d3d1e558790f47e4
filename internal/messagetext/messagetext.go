// Package messagetext renders messages as texts: their content, and a call as its Python source.
// Players, evaluations and people read these texts; the product works on messages and never parses
// them. It holds no state and does no I/O.
package messagetext

import (
	"errors"
	"strings"
	"unicode/utf8"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// ErrNoJSON is returned for arguments that are not JSON.
var ErrNoJSON = errors.New("the arguments are not JSON")

// noID is what the variables of a call without an id are named after.
const noID = "None"

// Content renders the content of a message; null is an empty text.
func Content(m *worldv1.Message) string {
	switch body := m.GetBody().(type) {
	case *worldv1.Message_Text:
		return body.Text
	case *worldv1.Message_Call:
		return Source(body.Call)
	case *worldv1.Message_Code:
		return body.Code.GetSource()
	case *worldv1.Message_Result:
		return body.Result.GetText()
	}
	return ""
}

// Answering returns the id and the tool name that the result of a call or of code repeats.
func Answering(m *worldv1.Message) (id, name *string) {
	switch body := m.GetBody().(type) {
	case *worldv1.Message_Call:
		return body.Call.Id, body.Call.Name
	case *worldv1.Message_Code:
		return body.Code.Id, body.Code.Name
	}
	return nil, nil
}

// Source renders a call as the original's Python source. It is UTF-8.
func Source(call *worldv1.ToolCall) string {
	variable := noID
	switch {
	case call.Variable != nil:
		variable = call.GetVariable()
	case call.Id != nil:
		variable = call.GetId()
	}
	source := ComposeSource(variable, call.GetTool(), argumentsSource(call))
	return strings.ToValidUTF8(source, string(utf8.RuneError))
}

// ComposeSource returns the original's three lines of source for one call: the arguments, the call,
// the print of its result. variable begins two names, identifier or not. arguments is a Python
// expression: the original writes text arguments without quotes, which makes code of them.
func ComposeSource(variable, tool, arguments string) string {
	return variable + "_parameters = " + arguments +
		"\n" + variable + "_response = " + tool + "(**" + variable + "_parameters)" +
		"\nprint(repr(" + variable + "_response))"
}

// argumentsSource renders the arguments of a call as a Python expression.
func argumentsSource(call *worldv1.ToolCall) string {
	value, err := Arguments(call)
	if err != nil {
		return python.Repr(python.Str(text(call)))
	}
	if text, ok := value.AsStr(); ok && IsObject(text) {
		return text
	}
	return python.Repr(value)
}

func text(call *worldv1.ToolCall) string {
	if call.ArgumentsText != nil {
		return call.GetArgumentsText()
	}
	return call.GetArgumentsJson()
}

// Arguments parses the arguments of a call; none are an empty dict. The value need not be a dict.
// The error is ErrNoJSON for arguments that are not JSON, or what python.ParseJSON returns.
func Arguments(call *worldv1.ToolCall) (python.Value, error) {
	switch {
	case call == nil || call.GetArgumentsJson() == "" && call.ArgumentsText == nil:
		return (&python.Dict{}).Value(), nil
	case call.ArgumentsText != nil:
		return python.Value{}, ErrNoJSON
	}
	return python.ParseJSON(call.GetArgumentsJson())
}

// IsObject reports whether a text is an object of JSON or a dict literal of Python, with no other
// blanks around it than those of JSON. The original prints such arguments without quotes, so the
// call runs.
func IsObject(text string) bool {
	text = strings.Trim(text, " \t\r\n")
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return false
	}
	value, err := python.ParseJSON(text)
	if err != nil {
		value, err = syntax.ParseLiteral(text)
	}
	_, ok := value.AsDict()
	return ok && err == nil
}
