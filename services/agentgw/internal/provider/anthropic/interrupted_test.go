package anthropic

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
)

// TestEncodeInterrupted shows a model the events that interrupt it.
func TestEncodeInterrupted(t *testing.T) {
	want := "[" +
		`{"role":"user","content":"Eggs, please."},` +
		`{"role":"user","content":"[Notification on the phone] Timer: tea"},` +
		`{"role":"assistant","content":[{"id":"call_1","input":{"minutes":8},"name":"set_timer","type":"tool_use"}]},` +
		`{"role":"user","content":[{"tool_use_id":"call_1","is_error":false,"content":[{"text":"None","type":"text"}],"type":"tool_result"}]},` +
		`{"role":"user","content":"[Notification on the phone] Timer: eggs"}` +
		"]"
	if got := providertest.Encoded(t, Codec{}, providertest.Interrupted(), "messages"); got != want {
		t.Errorf("messages: got\n%s\nwant\n%s", got, want)
	}
}
