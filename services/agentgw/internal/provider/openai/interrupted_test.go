package openai

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
)

// TestEncodeInterrupted shows a model the events that interrupt it.
func TestEncodeInterrupted(t *testing.T) {
	want := "[" +
		`{"content":"Be brief.","role":"system"},` +
		`{"content":"Eggs, please.","role":"user"},` +
		`{"content":"[Notification on the phone] Timer: tea","role":"user"},` +
		`{"content":"","tool_calls":[{"id":"call_1","function":{"arguments":"{\"minutes\": 8}","name":"set_timer"},"type":"function"}],"role":"assistant"},` +
		`{"role":"tool","content":"None","tool_call_id":"call_1","name":"set_timer"},` +
		`{"content":"[Notification on the phone] Timer: eggs","role":"user"}` +
		"]"
	if got := providertest.Encoded(t, Codec{}, providertest.Interrupted(), "messages"); got != want {
		t.Errorf("messages: got\n%s\nwant\n%s", got, want)
	}
}
