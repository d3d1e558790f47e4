package results

import (
	"testing"

	"google.golang.org/protobuf/proto"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestCallsBesideDemonstrations has a call that a demonstration shows to the user: it is none of
// the conversation, and takes no answer from those.
func TestCallsBesideDemonstrations(t *testing.T) {
	const user, environment = worldv1.Role_ROLE_USER, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	both := []worldv1.Role{user, environment}
	messages := []*worldv1.Message{
		{Index: 0, Sender: user, Recipient: environment, VisibleTo: both[:1], Body: &worldv1.Message_Code{Code: &worldv1.Code{Source: "end_conversation()"}}},
		{Index: 1, Sender: user, Recipient: environment, VisibleTo: both[:1], Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Tool: "shown"}}},
		{Index: 2, Sender: environment, Recipient: user, VisibleTo: both[:1], Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{Text: proto.String("shown")}}},
		{Index: 3, Sender: user, Recipient: environment, VisibleTo: both, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Tool: "played"}}},
		{Index: 4, Sender: environment, Recipient: user, VisibleTo: both, Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{Text: proto.String("answer")}}},
	}
	lines := callRows(key{}, messages)
	if len(lines) != 1 || *lines[0].Tool != "played" || lines[0].AnswerIndex == nil || *lines[0].AnswerIndex != 4 || *lines[0].Answer != "answer" {
		t.Errorf("got %+v, want the played call with its answer", lines)
	}
}
