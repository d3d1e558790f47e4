package interchange

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	fromSystem      = worldv1.Role_ROLE_SYSTEM
	fromUser        = worldv1.Role_ROLE_USER
	fromAgent       = worldv1.Role_ROLE_AGENT
	fromEnvironment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

func said(from, to worldv1.Role, text string) *worldv1.Message {
	return &worldv1.Message{Sender: from, Recipient: to, Body: &worldv1.Message_Text{Text: text}}
}

func called(id, tool, arguments string) *worldv1.Message {
	return &worldv1.Message{Sender: fromAgent, Recipient: fromEnvironment, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{
		Id: proto.String(id), Tool: tool, ArgumentsJson: arguments,
	}}}
}

func answered(text, exception string) *worldv1.Message {
	result := &worldv1.ToolResult{Text: &text}
	if exception != "" {
		result.Exception = &exception
	}
	return &worldv1.Message{Sender: fromEnvironment, Recipient: fromAgent, Body: &worldv1.Message_Result{Result: result}}
}

// TestConversation has parallel calls with one id, arguments that are no object, a call without an
// answer, code, an event, and messages that the agent does not see.
func TestConversation(t *testing.T) {
	t.Parallel()
	code := &worldv1.Message{Sender: fromAgent, Recipient: fromEnvironment, Body: &worldv1.Message_Code{Code: &worldv1.Code{Source: "print(1)"}}}
	shown := func(m *worldv1.Message) *worldv1.Message { m.VisibleTo = []worldv1.Role{fromUser}; return m }
	messages := []*worldv1.Message{
		shown(said(fromUser, fromAgent, "What a user may ask")),
		shown(said(fromAgent, fromUser, "What an agent may answer")),
		said(fromSystem, fromUser, "You play a person."),
		said(fromSystem, fromAgent, "You are the assistant."),
		said(fromUser, fromAgent, "Hello"),
		called("same", "first", `{"big": 12345678901234567890, "text": "a"}`),
		called("same", "second", `[1]`),
		answered("1", ""),
		answered("ValueError: no", "ValueError: no"),
		said(fromEnvironment, fromAgent, "The timer is over."),
		code,
		answered("1", ""),
		called("x", "third", ""),
		answered("None", ""),
		said(fromAgent, fromUser, "Done"),
		{Sender: fromUser, Recipient: fromEnvironment, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Tool: "end_conversation"}}},
		called("y", "fourth", "{}"),
	}
	for i, m := range messages {
		m.Index = int32(i)
	}
	want := []step{
		{role: system, text: "You are the assistant.", index: 3},
		{role: user, text: "Hello", index: 4},
		{role: agent, index: 5, calls: []call{
			{id: "call_5", tool: "first", arguments: []byte(`{"big": 12345678901234567890, "text": "a"}`), answered: true, answer: "1"},
			{id: "call_6", tool: "second", arguments: []byte("{}"), unreadable: "[1]", answered: true, answer: "ValueError: no", failed: true},
		}},
		{role: system, text: "The timer is over.", index: 9},
		{role: agent, index: 10, text: "print(1)", code: true, calls: []call{{answered: true, answer: "1"}}},
		{role: agent, index: 12, calls: []call{{id: "call_12", tool: "third", arguments: []byte("{}"), answered: true, answer: "None"}}},
		{role: agent, text: "Done", index: 14},
		{role: agent, index: 16, calls: []call{{id: "call_16", tool: "fourth", arguments: []byte("{}")}}},
	}
	if diff := cmp.Diff(want, conversation(messages), cmp.AllowUnexported(step{}, call{})); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
