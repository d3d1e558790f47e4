package interchange

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// step is one step of the agent's conversation: what it was told, or its turn with the answers to
// its calls.
type step struct {
	role  role
	text  string
	calls []call
	index int32 // of its first message in the rollout
	code  bool  // text is Python that the agent ran; its answer is that of the only call
}

type role string

const (
	system role = "system"
	user   role = "user"
	agent  role = "agent"
)

// call is a call of a tool, or the running of code.
type call struct {
	id, tool string
	// arguments is a JSON object. unreadable is what the agent wrote instead, empty for an object.
	arguments  json.RawMessage
	unreadable string
	answered   bool
	answer     string
	failed     bool
}

// conversation returns the steps of the agent: messages that it sent or received and may read, with
// consecutive calls in one step. Answers belong to calls by their order, since ids need not be
// unique.
func conversation(messages []*worldv1.Message) []step {
	const environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	var steps []step
	open, last := 0, -1 // answered calls of the last step with calls, and that step
	for _, m := range messages {
		sender, recipient := m.GetSender(), m.GetRecipient()
		switch {
		case !world.VisibleTo(m, worldv1.Role_ROLE_AGENT): // such as a demonstration for the user
		case sender == worldv1.Role_ROLE_AGENT && recipient == environment:
			if last < 0 || last != len(steps)-1 || open > 0 {
				steps = append(steps, step{role: agent, index: m.GetIndex()})
				last, open = len(steps)-1, 0
			}
			steps[last].add(m)
		case sender == environment && recipient == worldv1.Role_ROLE_AGENT:
			if last >= 0 && open < len(steps[last].calls) {
				c := &steps[last].calls[open]
				c.answered, c.answer, c.failed = true, messagetext.Content(m), m.GetResult().GetException() != ""
				open++
				continue
			}
			steps = append(steps, step{role: system, text: messagetext.Content(m), index: m.GetIndex()}) // an event
		case sender == worldv1.Role_ROLE_AGENT:
			steps = append(steps, step{role: agent, text: messagetext.Content(m), index: m.GetIndex()})
		case recipient == worldv1.Role_ROLE_AGENT && sender == worldv1.Role_ROLE_USER:
			steps = append(steps, step{role: user, text: messagetext.Content(m), index: m.GetIndex()})
		case recipient == worldv1.Role_ROLE_AGENT:
			steps = append(steps, step{role: system, text: messagetext.Content(m), index: m.GetIndex()})
		}
	}
	return steps
}

// add adds a call or code to a step of the agent.
func (s *step) add(m *worldv1.Message) {
	written := m.GetCall()
	if written == nil {
		s.code, s.text = true, messagetext.Content(m)
		s.calls = append(s.calls, call{})
		return
	}
	c := call{id: fmt.Sprintf("call_%d", m.GetIndex()), tool: written.GetTool(), arguments: json.RawMessage("{}")}
	if text := argumentsOf(written); json.Valid([]byte(text)) && text[0] == '{' {
		c.arguments = json.RawMessage(text)
	} else {
		c.unreadable = text
	}
	s.calls = append(s.calls, c)
}

// argumentsOf returns the arguments as JSON, or what the agent wrote instead.
func argumentsOf(c *worldv1.ToolCall) string {
	if value, err := messagetext.Arguments(c); err == nil {
		return python.ASCIIJSON(value)
	}
	return cmp.Or(c.GetArgumentsText(), c.GetArgumentsJson())
}
