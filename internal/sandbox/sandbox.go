// Package sandbox is the original's SANDBOX table: it renders a message as its row, and reads a row
// as a message. Source text and printed traces exist only here; everything else works on messages.
// It holds no state and does no I/O.
package sandbox

import (
	"strings"
	"unicode/utf8"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// noID is what the variables of a call without an id are named after.
const noID = "None"

// Row is the part of a SANDBOX row that a message's body becomes. A nil pointer and an empty
// ToolTrace are null cells.
type Row struct {
	Content      *string
	ToolCallID   *string
	FunctionName *string
	Exception    *string
	// ToolTrace has one JSON text per successful call of a tool.
	ToolTrace []string
}

// RowOf renders a message.
func RowOf(m *worldv1.Message) Row {
	switch body := m.GetBody().(type) {
	case *worldv1.Message_Text:
		return Row{Content: &body.Text}
	case *worldv1.Message_Call:
		source := Source(body.Call)
		return Row{Content: &source, ToolCallID: body.Call.Id, FunctionName: body.Call.Name}
	case *worldv1.Message_Code:
		return Row{Content: &body.Code.Source, ToolCallID: body.Code.Id, FunctionName: body.Code.Name}
	case *worldv1.Message_Result:
		r := body.Result
		row := Row{Content: r.Text, ToolCallID: r.Id, FunctionName: r.Name, Exception: r.Exception}
		for _, trace := range r.GetTraces() {
			row.ToolTrace = append(row.ToolTrace, TraceText(trace))
		}
		return row
	}
	return Row{}
}

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

const (
	traceTool      = `{"tool_name": `
	traceArguments = `, "arguments": `
	traceResult    = `, "result": `
)

// TraceText renders a trace as the original prints it.
func TraceText(trace *worldv1.ToolTrace) string {
	var out strings.Builder
	out.WriteString(traceTool)
	out.WriteString(python.JSON(python.Str(trace.GetTool())))
	out.WriteString(traceArguments)
	out.WriteString(trace.GetArgumentsJson())
	out.WriteString(traceResult)
	out.WriteString(trace.GetResultJson())
	out.WriteString("}")
	return out.String()
}
