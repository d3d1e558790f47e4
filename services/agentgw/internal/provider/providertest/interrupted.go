package providertest

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Interrupted is the query of an agent that events have interrupted twice: after a text of the
// user, and after the answer of a call.
func Interrupted() *provider.Query {
	const system, user, agent, environment = worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	said := func(from worldv1.Role, text string) *worldv1.Message {
		return &worldv1.Message{Sender: from, Recipient: agent, Body: &worldv1.Message_Text{Text: text}}
	}
	view := []*worldv1.Message{
		said(system, "Be brief."), said(user, "Eggs, please."), said(environment, "Timer: tea"),
		{Sender: agent, Recipient: environment, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{
			Id: proto.String("call_1"), Tool: "set_timer", ArgumentsJson: `{"minutes": 8}`,
		}}},
		{Sender: environment, Recipient: agent, Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{
			Id: proto.String("call_1"), Name: proto.String("set_timer"), Text: proto.String("None"),
		}}},
		said(environment, "Timer: eggs"),
	}
	for i, m := range view {
		m.Index = int32(i)
	}
	return &provider.Query{
		Model: &agentgwv1.Model{Model: "m"}, Official: true, Transcript: conversation.AgentView(view),
		Tools: []*worldv1.Tool{{Name: "set_timer", Description: "Sets a timer.", ParametersJson: `{"type":"object","properties":{}}`}},
	}
}

// Encoded returns a field of the body that a codec makes of a query, a text or JSON.
func Encoded(tb testing.TB, codec provider.Codec, q *provider.Query, field string) string {
	tb.Helper()
	request, err := codec.Encode(q)
	if err != nil {
		tb.Fatal(err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(request.Body, &body); err != nil {
		tb.Fatal(err)
	}
	var text string
	if json.Unmarshal(body[field], &text) == nil {
		return text
	}
	return string(body[field])
}
