package cohere

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
)

// TestEncodeInterrupted shows a model the events that interrupt it.
func TestEncodeInterrupted(t *testing.T) {
	want := "[" +
		`{"role":"system","content":"Be brief."},` +
		`{"role":"user","content":"Eggs, please."},` +
		`{"role":"user","content":"[Notification on the phone] Timer: tea"},` +
		`{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"set_timer","arguments":"{\"minutes\": 8}"}}]},` +
		`{"role":"tool","tool_call_id":"call_1","content":[{"type":"document","document":{"data":"None"}}]},` +
		`{"role":"user","content":"[Notification on the phone] Timer: eggs"}` +
		"]"
	if got := providertest.Encoded(t, Codec{}, providertest.Interrupted(), "messages"); got != want {
		t.Errorf("messages: got\n%s\nwant\n%s", got, want)
	}
}
