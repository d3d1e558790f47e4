package executor

import (
	"encoding/json"
	"fmt"

	"github.com/toolsandbox/toolsandbox/original/row/rowtest"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const environmentRole = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT

// sourceMessages returns messages for source texts of the original: calls or code.
func sourceMessages(sources ...string) []*worldv1.Message {
	messages := make([]*worldv1.Message, len(sources))
	for i, source := range sources {
		messages[i] = rowtest.Message(agent, environmentRole, source)
	}
	return messages
}

// resolveSource resolves a source text as Run does.
func (e *Environment) resolveSource(source string) call {
	return e.resolve(sourceMessages(source)[0], agent)
}

// traced returns traces with the given texts.
func traced(texts ...string) []*worldv1.ToolTrace {
	list := make([]*worldv1.ToolTrace, len(texts))
	for i, text := range texts {
		var trace struct {
			Tool      string          `json:"tool_name"`
			Arguments json.RawMessage `json:"arguments"`
			Result    json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal([]byte(text), &trace); err != nil {
			panic(fmt.Sprintf("trace %s: %v", text, err))
		}
		list[i] = &worldv1.ToolTrace{Tool: trace.Tool, ArgumentsJson: string(trace.Arguments), ResultJson: string(trace.Result)}
	}
	return list
}

// traces returns the texts of an answer's traces.
func traces(answer Answer) []string {
	var texts []string
	for _, trace := range answer.Traces {
		texts = append(texts, fmt.Sprintf(`{"tool_name": %q, "arguments": %s, "result": %s}`, trace.GetTool(), trace.GetArgumentsJson(), trace.GetResultJson()))
	}
	return texts
}
