// Package row is the original's SANDBOX table: it renders a message as its row, and reads a row as
// a message. It holds no state and does no I/O.
package row

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

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

// Of renders a message.
func Of(m *worldv1.Message) Row {
	switch body := m.GetBody().(type) {
	case *worldv1.Message_Text:
		return Row{Content: &body.Text}
	case *worldv1.Message_Call:
		source := messagetext.Source(body.Call)
		return Row{Content: &source, ToolCallID: body.Call.Id, FunctionName: body.Call.Name}
	case *worldv1.Message_Code:
		return Row{Content: &body.Code.Source, ToolCallID: body.Code.Id, FunctionName: body.Code.Name}
	case *worldv1.Message_Result:
		r := body.Result
		row := Row{Content: r.Text, ToolCallID: r.Id, FunctionName: r.Name, Exception: r.Exception}
		for _, trace := range r.GetTraces() {
			row.ToolTrace = append(row.ToolTrace, traceText(trace))
		}
		return row
	}
	return Row{}
}

const (
	traceTool      = `{"tool_name": `
	traceArguments = `, "arguments": `
	traceResult    = `, "result": `
)

// traceText renders a trace as the original prints it.
func traceText(trace *worldv1.ToolTrace) string {
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
