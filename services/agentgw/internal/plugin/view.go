package plugin

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// conversationIDBytes is how much of the hash of a rollout's id a plug-in sees. The id itself may name the scenario.
const conversationIDBytes = 16

// request is what the plug-in is asked.
func request(req *agentgwv1.RespondRequest, tools *turn.Tools) *agentv1.ActRequest {
	sum := sha256.Sum256([]byte(req.GetRolloutId()))
	act := &agentv1.ActRequest{
		ConversationId: hex.EncodeToString(sum[:conversationIDBytes]),
		Turn:           req.GetTurn(),
		Messages:       conversation(req.GetRole(), req.GetView()),
		Tools:          make([]*agentv1.Tool, len(tools.List())),
	}
	for i, tool := range tools.List() {
		act.Tools[i] = &agentv1.Tool{Name: tool.GetName(), Description: tool.GetDescription(), ParametersJson: tool.GetParametersJson()}
	}
	return act
}

// conversation translates a role's view: its own messages are the agent's, those of its counterpart the user's, whichever it
// plays. Consecutive calls become one message. Messages that neither come from nor go to the role are left out.
func conversation(self worldv1.Role, view []*worldv1.Message) []*agentv1.Message {
	const environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	messages := make([]*agentv1.Message, 0, len(view))
	var calling *agentv1.Message
	for _, m := range view {
		if m.GetSender() == self && m.GetRecipient() == environment {
			if calling == nil {
				calling = &agentv1.Message{Speaker: agentv1.Speaker_SPEAKER_AGENT}
				messages = append(messages, calling)
			}
			addCall(calling, m)
			continue
		}
		calling = nil
		switch {
		case m.GetSender() == self:
			messages = append(messages, &agentv1.Message{Speaker: agentv1.Speaker_SPEAKER_AGENT, Text: m.GetContent()})
		case m.GetRecipient() != self:
		case m.GetSender() == environment:
			messages = append(messages, &agentv1.Message{
				Speaker: agentv1.Speaker_SPEAKER_TOOL, Text: m.GetContent(),
				CallId: m.GetToolCallId(), ToolName: m.GetFunctionName(), Failed: m.Exception != nil,
			})
		case m.GetSender() == worldv1.Role_ROLE_SYSTEM:
			messages = append(messages, &agentv1.Message{Speaker: agentv1.Speaker_SPEAKER_SYSTEM, Text: m.GetContent()})
		default:
			messages = append(messages, &agentv1.Message{Speaker: agentv1.Speaker_SPEAKER_USER, Text: m.GetContent()})
		}
	}
	return messages
}

// addCall reads a call back out of its source. Arguments that were no JSON were sent as a Python text and come back as the
// agent wrote them; source of another shape is shown as text.
func addCall(message *agentv1.Message, m *worldv1.Message) {
	_, name, args, ok := python.ParseCall(m.GetContent())
	if !ok {
		message.Text += m.GetContent()
		return
	}
	if m.FunctionName != nil {
		name = m.GetFunctionName()
	}
	arguments := python.JSON(args)
	if text, isText := args.AsStr(); isText {
		arguments = text
	}
	message.Calls = append(message.Calls, &agentv1.ToolCall{Id: m.GetToolCallId(), Name: name, ArgumentsJson: arguments})
}
