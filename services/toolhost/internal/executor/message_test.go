package executor

import (
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"

	"github.com/toolsandbox/toolsandbox/internal/sandbox"
	"github.com/toolsandbox/toolsandbox/internal/sandbox/sandboxtest"
)

const environmentRole = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT

// sourceMessages returns messages for source texts of the original: calls or code.
func sourceMessages(sources ...string) []*worldv1.Message {
	messages := make([]*worldv1.Message, len(sources))
	for i, source := range sources {
		messages[i] = sandboxtest.Message(agent, environmentRole, source)
	}
	return messages
}

// resolveSource resolves a source text as Run does.
func (e *Environment) resolveSource(source string) call {
	return e.resolve(sourceMessages(source)[0], agent)
}

// traced returns traces with the given texts.
func traced(texts ...string) []*worldv1.ToolTrace {
	return sandboxtest.Read(environmentRole, agent, sandbox.Row{ToolTrace: texts}).GetResult().GetTraces()
}

func traces(answer Answer) []string {
	var texts []string
	for _, trace := range answer.Traces {
		texts = append(texts, sandbox.TraceText(trace))
	}
	return texts
}
