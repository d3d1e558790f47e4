package rollout

import (
	"slices"

	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// DefaultRepeatLimit is the repeat limit of a sweep without compat that sets none.
const DefaultRepeatLimit = 8

// repetition counts the equal turns of the agent in a row. Calls are equal if their tools,
// arguments and answers are.
type repetition struct {
	count          int32
	turn, answers  []*worldv1.Message // of the last turn
	earlierAnswers []*worldv1.Message // of the turn before, which was equal
}

// add counts a turn.
func (r *repetition) add(turn *busv1.Turn) {
	messages := turn.GetMessages()
	switch first := messages[0]; {
	case first.GetSender() == worldv1.Role_ROLE_AGENT:
		if !slices.EqualFunc(r.turn, messages, sameContent) {
			*r = repetition{}
		}
		r.count++
		r.turn, r.answers, r.earlierAnswers = messages, nil, r.answers
	case first.GetRecipient() == worldv1.Role_ROLE_AGENT && first.GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT:
		r.answers = messages
		if r.count > 1 && !slices.EqualFunc(r.earlierAnswers, messages, sameContent) {
			r.count = 1
		}
	}
}

// sameContent compares what two messages say, and to whom.
func sameContent(a, b *worldv1.Message) bool {
	return a.GetRecipient() == b.GetRecipient() && proto.Equal(content(a), content(b))
}

// content returns a message's body without what identifies it.
func content(m *worldv1.Message) *worldv1.Message {
	switch body := m.GetBody().(type) {
	case *worldv1.Message_Call:
		call := &worldv1.ToolCall{Tool: body.Call.GetTool(), ArgumentsJson: body.Call.GetArgumentsJson(), ArgumentsText: body.Call.ArgumentsText}
		return &worldv1.Message{Body: &worldv1.Message_Call{Call: call}}
	case *worldv1.Message_Result:
		return &worldv1.Message{Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{Text: body.Result.Text, Exception: body.Result.Exception}}}
	case *worldv1.Message_Code:
		return &worldv1.Message{Body: &worldv1.Message_Code{Code: &worldv1.Code{Source: body.Code.GetSource()}}}
	default:
		return &worldv1.Message{Body: m.GetBody()}
	}
}
