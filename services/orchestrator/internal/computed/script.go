package computed

import (
	"cmp"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/internal/world"
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

// scripted plays the next turn of a script. The error is a *turn.Mistake.
func scripted(player *agentgwv1.Scripted, p *Position) ([]*worldv1.Message, error) {
	next := p.Scripted
	if player.GetSource() == agentgwv1.Scripted_SOURCE_INLINE {
		next = nil
		if p.Turn < len(player.GetTurns()) {
			next = player.GetTurns()[p.Turn]
		}
	}
	switch {
	case next == nil && p.Role == worldv1.Role_ROLE_AGENT:
		return p.composer().Say(agentEnd), nil
	case next == nil:
		return calls(p, turn.AnyTools(), &worldv1.ToolCall{Id: proto.String(endCallID), Tool: world.EndTool})
	case len(next.GetCalls()) == 0:
		return p.composer().Say(next.GetSay()), nil
	default:
		return calls(p, p.Tools, next.GetCalls()...)
	}
}

func calls(p *Position, tools *turn.Tools, scripted ...*worldv1.ToolCall) ([]*worldv1.Message, error) {
	made := make([]turn.Call, len(scripted))
	for i, s := range scripted {
		made[i] = turn.Call{ID: s.Id, IDRule: turn.IndexID, Tool: s.GetTool(), Arguments: cmp.Or(s.GetArgumentsJson(), "{}")}
	}
	messages, _, err := p.composer().Calls(made, tools)
	return messages, err
}
