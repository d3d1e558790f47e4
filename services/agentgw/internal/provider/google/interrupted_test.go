package google

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
)

// TestEncodeInterrupted shows a model the events that interrupt it. In compat, in which a turn has
// only the last results, these stay before an event.
func TestEncodeInterrupted(t *testing.T) {
	want := "[" +
		`{"role":"user","parts":[{"text":"Eggs, please."}]},` +
		`{"role":"user","parts":[{"text":"[Notification on the phone] Timer: tea"}]},` +
		`{"role":"model","parts":[{"functionCall":{"name":"set_timer","args":{"minutes":8}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"set_timer","response":{"content":"None"}}}]},` +
		`{"role":"user","parts":[{"text":"[Notification on the phone] Timer: eggs"}]}` +
		"]"
	for _, compat := range []bool{false, true} {
		q := providertest.Interrupted()
		q.Compat = compat
		if got := strings.ReplaceAll(providertest.Encoded(t, Codec{}, q, "contents"), `"role":"tool"`, `"role":"user"`); got != want {
			t.Errorf("compat %t: contents: got\n%s\nwant\n%s", compat, got, want)
		}
	}
}
