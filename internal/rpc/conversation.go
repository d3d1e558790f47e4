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

// Every turn sends the complete conversation again. This file validates and measures conversations
// without the reflection of protovalidate and proto.Size. Tests compare the results.

// maxListed is the smallest limit of a list of messages in the protos. The validator checks longer
// lists.
const maxListed = 1000

// skipValidMessages returns an option that makes the validator skip lists of valid messages.
func skipValidMessages() protovalidate.ValidationOption {
	conversation := (*worldv1.Message)(nil).ProtoReflect().Descriptor()
	return protovalidate.WithFilter(protovalidate.FilterFunc(func(message protoreflect.Message, of protoreflect.Descriptor) bool {
		field, ok := of.(protoreflect.FieldDescriptor)
		return !ok || field.Message() != conversation || !field.IsList() || !allValid(message.Get(field).List())
	}))
}

// unchecked returns the part of a request that the validator has to check, nil if there is none. It
// checks ExecuteRequest itself, and RespondRequest except for players that are not scripted.
func unchecked(request proto.Message) proto.Message {
	switch r := request.(type) {
	case *toolhostv1.ExecuteRequest:
		n := len(r.GetCalls())
		if isID(r.GetSessionId()) && r.GetIndex() >= 0 && n > 0 && n <= maxListed && !slices.ContainsFunc(r.GetCalls(), isInvalid) &&
			len(r.GetSessionDigest()) <= sha256.Size && r.Now == nil {
			return nil
		}
	case *agentgwv1.RespondRequest:
		player, script := r.GetPlayer(), r.GetPlayer().GetScripted()
		valid := isID(r.GetRolloutId()) && r.GetIndex() >= 0 && (r.GetRole() == worldv1.Role_ROLE_USER || r.GetRole() == worldv1.Role_ROLE_AGENT) &&
			player != nil && !slices.ContainsFunc(r.GetView(), isInvalid) && r.GetTurn() >= 0 && len(r.GetTools()) == 0 &&
			r.GetSpendLimit().GetTokens() >= 0 && r.GetSpendLimit().GetCostMicros() >= 0 &&
			!slices.ContainsFunc(r.GetScripted().GetCalls(), func(call *worldv1.ToolCall) bool { return call.GetTool() == "" }) &&
			len(r.GetToolSetDigest()) <= 2*sha256.Size && r.GetRound() >= 0 && len(r.GetConversationDigest()) <= sha256.Size
		switch {
		case valid && script.GetSource() == agentgwv1.Scripted_SOURCE_SCENARIO && len(script.GetTurns()) == 0 && player.GetName() != "" && len(player.GetName()) <= 100:
			return nil
		case valid:
			return player
		}
	}
	return request
}

// isID reports whether a text is an id of a rollout or session.
func isID(text string) bool {
	dot := true // whether the previous character is a dot, or there is none
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

// isInvalid is the opposite of isValid.
func isInvalid(m *worldv1.Message) bool { return !isValid(m) }

// allValid reports whether a list of messages is valid.
func allValid(messages protoreflect.List) bool {
	n := messages.Len()
	for i := range n {
		message, ok := messages.Get(i).Message().Interface().(*worldv1.Message)
		if !ok || !isValid(message) {
			return false
		}
	}
	return n > 0 && n <= maxListed
}

// isValid reports whether a message follows the rules of its proto. The validator explains the
// mistakes of other messages.
func isValid(m *worldv1.Message) bool {
	if m.GetIndex() < 0 || !isPlayerRole(m.GetSender()) || !isPlayerRole(m.GetRecipient()) {
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

// isPlayerRole reports whether a role is defined and not UNSPECIFIED.
func isPlayerRole(role worldv1.Role) bool {
	_, defined := worldv1.Role_name[int32(role)]
	return defined && role != worldv1.Role_ROLE_UNSPECIFIED
}

const (
	// fieldBytes is the maximum overhead of a field beside its text: tag and length, or a number.
	fieldBytes = 16
	// messageBytes is the maximum size of a message without its body and its readers.
	messageBytes = 5 * fieldBytes
)

// maxSize returns an upper bound of the messages' size on the wire, in bytes.
func maxSize(messages []*worldv1.Message) (bytes int) {
	for _, m := range messages {
		bytes += messageBytes + fieldBytes*len(m.GetVisibleTo())
		switch body := m.GetBody().(type) {
		case *worldv1.Message_Text:
			bytes += maxFieldsSize(body.Text)
		case *worldv1.Message_Call:
			call := body.Call
			bytes += maxFieldsSize(call.GetId(), call.GetTool(), call.GetArgumentsJson(), call.GetArgumentsText(), call.GetName(), call.GetVariable())
		case *worldv1.Message_Code:
			bytes += maxFieldsSize(body.Code.GetSource(), body.Code.GetId(), body.Code.GetName())
		case *worldv1.Message_Result:
			result := body.Result
			bytes += maxFieldsSize(result.GetId(), result.GetName(), result.GetText(), result.GetException())
			for _, trace := range result.GetTraces() {
				bytes += maxFieldsSize(trace.GetTool(), trace.GetArgumentsJson(), trace.GetResultJson())
			}
		}
	}
	return bytes
}

// maxFieldsSize returns an upper bound of the size of a message part with these fields.
func maxFieldsSize(fields ...string) int {
	bytes := fieldBytes * (1 + len(fields))
	for _, field := range fields {
		bytes += len(field)
	}
	return bytes
}
