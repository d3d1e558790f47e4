// Package script plays the roles whose turns are fixed beforehand: scripted players and the one
// that never helps.
package script

import (
	"cmp"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// agentEnd is what a scripted agent says when its script is over; the vectors spell it so.
	agentEnd = "I have nothing to add."
	// endCallID and endTool are the call with which a scripted user ends the conversation.
	endCallID = "call_end"
	endTool   = "end_conversation"
	noHelp    = "Sorry, this is something I am unable to do for you."
)

// Respond plays the next turn of a scripted role. The error is a *turn.Mistake.
func Respond(req *agentgwv1.RespondRequest, tools *turn.Tools) ([]*worldv1.Message, error) {
	composer := turn.Composer{Role: req.GetRole(), Index: req.GetIndex(), Compat: req.GetCompat()}
	next := nextTurn(req)
	if next == nil {
		if req.GetRole() == worldv1.Role_ROLE_AGENT {
			return composer.Say(agentEnd), nil
		}
		return call(composer, turn.AnyTools(), &worldv1.ToolCall{Id: proto.String(endCallID), Tool: endTool})
	}
	if len(next.GetCalls()) == 0 {
		return composer.Say(next.GetSay()), nil
	}
	return call(composer, tools, next.GetCalls()...)
}

func call(composer turn.Composer, tools *turn.Tools, scripted ...*worldv1.ToolCall) ([]*worldv1.Message, error) {
	calls := make([]turn.Call, len(scripted))
	for i, s := range scripted {
		calls[i] = turn.Call{ID: s.Id, IDRule: turn.CountID, Tool: s.GetTool(), Arguments: cmp.Or(s.GetArgumentsJson(), "{}")}
	}
	messages, _, err := composer.Calls(calls, tools)
	return messages, err
}

// nextTurn returns nil after the script's end.
func nextTurn(req *agentgwv1.RespondRequest) *worldv1.Turn {
	scripted := req.GetPlayer().GetScripted()
	if scripted.GetSource() == agentgwv1.Scripted_SOURCE_SCENARIO {
		return req.GetScripted()
	}
	if turns := scripted.GetTurns(); int(req.GetTurn()) < len(turns) {
		return turns[req.GetTurn()]
	}
	return nil
}

// Refuse plays the agent that never helps.
func Refuse(req *agentgwv1.RespondRequest) []*worldv1.Message {
	return turn.Composer{Role: req.GetRole(), Index: req.GetIndex()}.Say(noHelp)
}
