package rpc

import (
	"crypto/sha256"
	"slices"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Conversations are most of what services send each other: each turn sends all of it again. What
// protovalidate and proto.Size find out about them by reflection is found here for less.

// maxObeying is the length up to which a list of messages may be found to break no rule: no field
// has a rule that fewer break, but that it is not empty.
const maxObeying = 1000

// unlessObeyed returns the option with which requests are validated: the validator leaves out the
// lists of messages that are found to break no rule.
func unlessObeyed() protovalidate.ValidationOption {
	conversation := (*worldv1.Message)(nil).ProtoReflect().Descriptor()
	return protovalidate.WithFilter(protovalidate.FilterFunc(func(message protoreflect.Message, of protoreflect.Descriptor) bool {
		field, ok := of.(protoreflect.FieldDescriptor)
		return !ok || field.Message() != conversation || !field.IsList() || !allObey(message.Get(field).List())
	}))
}

// obeysAll reports whether one of the requests that each turn makes breaks no rule. It knows
// players that are scripted by their scenario; any other request is left to the validator.
func obeysAll(request proto.Message) bool {
	switch r := request.(type) {
	case *toolhostv1.ExecuteRequest:
		n := len(r.GetCalls())
		return isID(r.GetSessionId()) && r.GetIndex() >= 0 && n > 0 && n <= maxObeying && !slices.ContainsFunc(r.GetCalls(), breaks) &&
			len(r.GetSessionDigest()) <= sha256.Size && r.Now == nil
	case *agentgwv1.RespondRequest:
		player, script := r.GetPlayer(), r.GetPlayer().GetScripted()
		return isID(r.GetRolloutId()) && r.GetIndex() >= 0 && (r.GetRole() == worldv1.Role_ROLE_USER || r.GetRole() == worldv1.Role_ROLE_AGENT) &&
			script.GetSource() == agentgwv1.Scripted_SOURCE_SCENARIO && len(script.GetTurns()) == 0 && player.GetName() != "" && len(player.GetName()) <= 100 &&
			len(r.GetView()) > 0 && !slices.ContainsFunc(r.GetView(), breaks) && r.GetTurn() >= 0 && len(r.GetTools()) == 0 && r.GetSpendLimit() == nil &&
			!slices.ContainsFunc(r.GetScripted().GetCalls(), func(call *worldv1.ToolCall) bool { return call.GetTool() == "" }) &&
			len(r.GetToolSetDigest()) <= 2*sha256.Size && r.GetRound() >= 0 && len(r.GetConversationDigest()) <= sha256.Size
	}
	return false
}

// isID reports whether a text is an id of a rollout or session.
func isID(text string) bool {
	dot := true // the character before is one, or there is none
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '.' && dot, c != '.' && c != '_' && c != '-' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9'):
			return false
		}
		dot = c == '.'
	}
	return !dot && len(text) <= 200
}

// breaks is the opposite of obeys.
func breaks(m *worldv1.Message) bool { return !obeys(m) }

// allObey reports that a list of messages breaks no rule.
func allObey(messages protoreflect.List) bool {
	n := messages.Len()
	for i := range n {
		message, ok := messages.Get(i).Message().Interface().(*worldv1.Message)
		if !ok || !obeys(message) {
			return false
		}
	}
	return n > 0 && n <= maxObeying
}

// obeys reports whether a message breaks none of the rules of its proto. Of any other one the
// validator says which rule it breaks.
func obeys(m *worldv1.Message) bool {
	if m.GetIndex() < 0 || !speaks(m.GetSender()) || !speaks(m.GetRecipient()) {
		return false
	}
	for _, role := range m.GetVisibleTo() {
		if _, defined := worldv1.Role_name[int32(role)]; !defined {
			return false
		}
	}
	call := m.GetCall()
	return call == nil || call.GetTool() != ""
}

// speaks reports whether a role is one of those that are defined and valid.
func speaks(role worldv1.Role) bool {
	_, defined := worldv1.Role_name[int32(role)]
	return defined && role != worldv1.Role_ROLE_UNSPECIFIED
}

const (
	// fieldBytes is what a field has at most beside its text: tag and length, or a number.
	fieldBytes = 16
	// messageBytes is what a message has at most beside its body and who may read it.
	messageBytes = 5 * fieldBytes
)

// atMost returns a number of bytes that the messages do not exceed on the wire.
func atMost(messages []*worldv1.Message) (bytes int) {
	for _, m := range messages {
		bytes += messageBytes + fieldBytes*len(m.GetVisibleTo())
		switch body := m.GetBody().(type) {
		case *worldv1.Message_Text:
			bytes += texts(body.Text)
		case *worldv1.Message_Call:
			call := body.Call
			bytes += texts(call.GetId(), call.GetTool(), call.GetArgumentsJson(), call.GetArgumentsText(), call.GetName(), call.GetVariable())
		case *worldv1.Message_Code:
			bytes += texts(body.Code.GetSource(), body.Code.GetId(), body.Code.GetName())
		case *worldv1.Message_Result:
			result := body.Result
			bytes += texts(result.GetId(), result.GetName(), result.GetText(), result.GetException())
			for _, trace := range result.GetTraces() {
				bytes += texts(trace.GetTool(), trace.GetArgumentsJson(), trace.GetResultJson())
			}
		}
	}
	return bytes
}

// texts returns what a part of a message with these fields does not exceed.
func texts(fields ...string) int {
	bytes := fieldBytes * (1 + len(fields))
	for _, field := range fields {
		bytes += len(field)
	}
	return bytes
}
