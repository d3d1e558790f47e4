package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"math"

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

// addCall reads a call back out of its source, its arguments always as JSON. Those that were no JSON were sent as a Python text, and come
// back as a JSON text as one that was a JSON text does; source of another shape is shown as text.
func addCall(message *agentv1.Message, m *worldv1.Message) {
	_, name, args, ok := python.ParseCall(m.GetContent())
	if !ok {
		message.Text += m.GetContent()
		return
	}
	if m.FunctionName != nil {
		name = m.GetFunctionName()
	}
	message.Calls = append(message.Calls, &agentv1.ToolCall{Id: m.GetToolCallId(), Name: name, ArgumentsJson: string(appendArguments(nil, args))})
}

// appendArguments appends a value as python.JSON writes it, but numbers that JSON has no text for as JSON: an infinite one as a number
// beyond all floats, as which it may have been written, and nan, for which there is none, as a text.
func appendArguments(dst []byte, v python.Value) []byte {
	if _, found := python.NonFinite(v); !found {
		return python.AppendJSON(dst, v)
	}
	if f, ok := v.AsFloat(); ok {
		switch {
		case math.IsInf(f, 1):
			return append(dst, "1e999"...)
		case math.IsInf(f, -1):
			return append(dst, "-1e999"...)
		}
		return append(dst, `"NaN"`...)
	}
	if items, ok := v.AsList(); ok {
		dst = append(dst, '[')
		for i, item := range items {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendArguments(dst, item)
		}
		return append(dst, ']')
	}
	dict, _ := v.AsDict()
	dst = append(dst, '{')
	for i, item := range dict.Items() {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendArguments(append(python.AppendJSON(dst, python.Str(item.Key)), ": "...), item.Value)
	}
	return append(dst, '}')
}
