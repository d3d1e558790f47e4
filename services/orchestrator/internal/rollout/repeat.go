package rollout

import (
	"slices"

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

// sameContent compares what two messages say, and to whom, without what identifies them.
func sameContent(a, b *worldv1.Message) bool {
	if a.GetRecipient() != b.GetRecipient() {
		return false
	}
	switch body := a.GetBody().(type) {
	case *worldv1.Message_Call:
		call, other := body.Call, b.GetCall()
		return other != nil && call.GetTool() == other.GetTool() && call.GetArgumentsJson() == other.GetArgumentsJson() &&
			call.GetArgumentsText() == other.GetArgumentsText()
	case *worldv1.Message_Result:
		result, other := body.Result, b.GetResult()
		return other != nil && result.GetText() == other.GetText() && result.GetException() == other.GetException()
	case *worldv1.Message_Code:
		return b.GetCode() != nil && body.Code.GetSource() == b.GetCode().GetSource()
	default:
		_, isText := b.GetBody().(*worldv1.Message_Text)
		return isText && a.GetText() == b.GetText()
	}
}
