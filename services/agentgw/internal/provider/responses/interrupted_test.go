package responses

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
)

// TestEncodeInterrupted shows a model the events that interrupt it.
func TestEncodeInterrupted(t *testing.T) {
	want := "[" +
		`{"content":"Be brief.","role":"system","type":"message"},` +
		`{"content":"Eggs, please.","role":"user","type":"message"},` +
		`{"content":"[Notification on the phone] Timer: tea","role":"user","type":"message"},` +
		`{"arguments":"{\"minutes\": 8}","call_id":"call_1","name":"set_timer","type":"function_call"},` +
		`{"output":"None","call_id":"call_1","type":"function_call_output"},` +
		`{"content":"[Notification on the phone] Timer: eggs","role":"user","type":"message"}` +
		"]"
	if got := providertest.Encoded(t, Codec{}, providertest.Interrupted(), "input"); got != want {
		t.Errorf("input: got\n%s\nwant\n%s", got, want)
	}
}
