package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// conversationIDBytes is the length of the hash that stands for the rollout id. A plug-in must not
// see the id, which may name the scenario.
const conversationIDBytes = 16

// actRequest returns the request to the plug-in.
func actRequest(req *agentgwv1.RespondRequest, tools *turn.Tools) *agentv1.ActRequest {
	act := &agentv1.ActRequest{
		ConversationId: conversationID(req),
		Turn:           req.GetTurn(),
		Messages:       messages(req.GetRole(), req.GetView()),
		Tools:          make([]*agentv1.Tool, len(tools.List())),
	}
	for i, tool := range tools.List() {
		act.Tools[i] = &agentv1.Tool{Name: tool.GetName(), Description: tool.GetDescription(), ParametersJson: tool.GetParametersJson()}
	}
	return act
}

// conversationID returns the id of what a role sees of a rollout. A program that plays both roles
// has two conversations.
func conversationID(req *agentgwv1.RespondRequest) string {
	of := req.GetRolloutId()
	if req.GetRole() == worldv1.Role_ROLE_USER {
		of += "/user"
	}
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:conversationIDBytes])
}

// messages translates a role's view. The role's own messages are the agent's and those of its
// counterpart the user's, whichever role it plays. Consecutive calls become one message.
func messages(self worldv1.Role, view []*worldv1.Message) []*agentv1.Message {
	entries := conversation.AgentView(view)
	if self == worldv1.Role_ROLE_USER {
		entries = conversation.UserView(view, true)
	}
	list := make([]*agentv1.Message, 0, len(entries))
	var calling *agentv1.Message
	for i := range entries {
		e := &entries[i]
		if e.Kind == conversation.ToolCall && e.Code == "" {
			if calling == nil {
				calling = &agentv1.Message{Speaker: agentv1.Speaker_SPEAKER_AGENT}
				list = append(list, calling)
			}
			calling.Calls = append(calling.Calls, &agentv1.ToolCall{
				Id: rowID(e), Name: e.Name, ArgumentsJson: string(appendArguments(nil, e.Arguments)),
			})
			continue
		}
		calling = nil
		list = append(list, message(e))
	}
	return list
}

func message(e *conversation.Entry) *agentv1.Message {
	switch e.Kind {
	case conversation.Result:
		return &agentv1.Message{
			Speaker: agentv1.Speaker_SPEAKER_TOOL, Text: e.Text, CallId: rowID(e), ToolName: e.Name, Failed: e.Failed, ValueJson: validJSON(e.Value),
		}
	case conversation.System:
		return &agentv1.Message{Speaker: agentv1.Speaker_SPEAKER_SYSTEM, Text: e.Text}
	case conversation.User:
		if e.Notification != "" {
			return &agentv1.Message{Speaker: agentv1.Speaker_SPEAKER_NOTIFICATION, Text: e.Notification}
		}
		return &agentv1.Message{Speaker: agentv1.Speaker_SPEAKER_USER, Text: e.Text}
	case conversation.ToolCall:
		return &agentv1.Message{Speaker: agentv1.Speaker_SPEAKER_AGENT, Code: &e.Code}
	case conversation.Assistant:
	}
	return &agentv1.Message{Speaker: agentv1.Speaker_SPEAKER_AGENT, Text: e.Text}
}

// validJSON returns a value as standard JSON. Python's json writes numbers that JSON lacks.
func validJSON(value *string) *string {
	if value == nil || json.Valid([]byte(*value)) {
		return value
	}
	parsed, err := python.ParseJSON(*value)
	if err != nil {
		return nil
	}
	text := string(appendArguments(nil, parsed))
	return &text
}

func rowID(e *conversation.Entry) string {
	if e.RowID == nil {
		return ""
	}
	return *e.RowID
}

// appendArguments appends a value as python.JSON writes it, but valid JSON for non-finite numbers:
// an infinity becomes a number beyond the float range, and NaN a text.
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
