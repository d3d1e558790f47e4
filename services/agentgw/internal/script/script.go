// Package script plays players with fixed turns: scripted players and the unhelpful agent.
package script

import (
	"cmp"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// agentEnd is the text of a scripted agent after the end of its script. The vectors contain it.
	agentEnd = "I have nothing to add."
	// endCallID is the id of the call with which a scripted user ends the conversation.
	endCallID = "call_end"
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
		return call(composer, turn.AnyTools(), &worldv1.ToolCall{Id: proto.String(endCallID), Tool: world.EndTool})
	}
	if len(next.GetCalls()) == 0 {
		return composer.Say(next.GetSay()), nil
	}
	return call(composer, tools, next.GetCalls()...)
}

func call(composer turn.Composer, tools *turn.Tools, scripted ...*worldv1.ToolCall) ([]*worldv1.Message, error) {
	calls := make([]turn.Call, len(scripted))
	for i, s := range scripted {
		calls[i] = turn.Call{ID: s.Id, IDRule: turn.IndexID, Tool: s.GetTool(), Arguments: cmp.Or(s.GetArgumentsJson(), "{}")}
	}
	messages, _, err := composer.Calls(calls, tools)
	return messages, err
}

// nextTurn returns the scripted turn, nil after the script's end.
func nextTurn(req *agentgwv1.RespondRequest) *worldv1.ScriptTurn {
	scripted := req.GetPlayer().GetScripted()
	if scripted.GetSource() == agentgwv1.Scripted_SOURCE_SCENARIO {
		return req.GetScripted()
	}
	if turns := scripted.GetTurns(); int(req.GetTurn()) < len(turns) {
		return turns[req.GetTurn()]
	}
	return nil
}

// RespondUnhelpful plays the unhelpful agent.
func RespondUnhelpful(req *agentgwv1.RespondRequest) []*worldv1.Message {
	return turn.Composer{Role: req.GetRole(), Index: req.GetIndex()}.Say(noHelp)
}
