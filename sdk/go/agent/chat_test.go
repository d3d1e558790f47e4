package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

func TestChatFunc(t *testing.T) {
	const wantSeen = `[[{"role":"system","content":"s"},{"role":"user","content":"u"},` +
		`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{\"a\":1}"}}]},` +
		`{"role":"tool","content":"None","tool_call_id":"c","name":"n"},` +
		`{"role":"user","content":"[Notification on the phone] ring"}],` +
		`[{"type":"function","function":{"name":"n","description":"d","parameters":{"type":"object"}}}]]`
	var seen []byte
	answer, failure := agent.ChatMessage{}, error(nil)
	conn, _ := serve(t, agent.ChatFunc(func(_ context.Context, messages []agent.ChatMessage, tools []agent.ChatTool) (agent.ChatMessage, error) {
		var err error
		if seen, err = json.Marshal([]any{messages, tools}); err != nil {
			t.Error(err)
		}
		return answer, failure
	}))
	request := &agentv1.ActRequest{
		ConversationId: "id",
		Messages: []*agentv1.Message{
			{Speaker: agentv1.Speaker_SPEAKER_SYSTEM, Text: "s"},
			{Speaker: agentv1.Speaker_SPEAKER_USER, Text: "u"},
			{Speaker: agentv1.Speaker_SPEAKER_AGENT, Calls: []*agentv1.ToolCall{{Id: "c", Name: "n", ArgumentsJson: `{"a":1}`}}},
			{Speaker: agentv1.Speaker_SPEAKER_TOOL, Text: "None", CallId: "c", ToolName: "n"},
			{Speaker: agentv1.Speaker_SPEAKER_NOTIFICATION, Text: "ring"},
		},
		Tools: []*agentv1.Tool{{Name: "n", Description: "d", ParametersJson: `{"type":"object"}`}},
	}
	call := agent.ChatToolCall{ID: "x", Type: "function", Function: agent.ChatFunction{Name: "n", Arguments: `{"a":2}`}}
	tests := map[string]struct {
		answer agent.ChatMessage
		err    error
		want   *agentv1.ActResponse
	}{
		"says":  {answer: agent.ChatMessage{Role: "assistant", Content: "hi"}, want: &agentv1.ActResponse{Text: "hi"}},
		"calls": {answer: agent.ChatMessage{Content: "dropped", ToolCalls: []agent.ChatToolCall{call}}, want: &agentv1.ActResponse{Calls: []*agentv1.ToolCall{{Id: "x", Name: "n", ArgumentsJson: `{"a":2}`}}}},
		"calls without arguments": {
			answer: agent.ChatMessage{ToolCalls: []agent.ChatToolCall{{ID: "x", Function: agent.ChatFunction{Name: "n"}}}},
			want:   &agentv1.ActResponse{Calls: []*agentv1.ToolCall{{Id: "x", Name: "n", ArgumentsJson: "{}"}}},
		},
		"fails": {err: errors.New("no model"), want: raised("error", "no model")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer, failure = test.answer, test.err
			got, err := agentv1.NewAgentServiceClient(conn).Act(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("Act (-want +got):\n%s", diff)
			}
			if string(seen) != wantSeen {
				t.Errorf("the function saw\n%s\nwant\n%s", seen, wantSeen)
			}
		})
	}
}
