package cohere

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
)

// planned is a turn with a plan and a call.
func planned(call string) string {
	return `{"role":"assistant","tool_plan":"I will search for the contact.","tool_calls":[{"id":"` + call + `","type":"function",` +
		`"function":{"name":"search_contacts","arguments":"{\"phone_number\": \"+15551234567\", \"limit\": 3}"}}]}`
}

// BenchmarkEncode encodes requests of the usual size.
func BenchmarkEncode(b *testing.B) {
	for name, native := range map[string]func(string) string{"Plain": nil, "Plans": planned} {
		b.Run(name, func(b *testing.B) {
			query := providertest.Query(native)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (Codec{}).Encode(query); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecode decodes an answer with two calls.
func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"id":"c14c80c3-18eb-4519-9460-6c92edd8cfb4","finish_reason":"TOOL_CALL","message":{"role":"assistant",` +
		`"tool_plan":"I will search for the contact and ask whether wifi is on.","tool_calls":[` +
		`{"id":"search_contacts_c3e2r2k9","type":"function","function":{"name":"search_contacts","arguments":"{\"name\": \"Ada\", \"is_self\": false}"}},` +
		`{"id":"get_wifi_status_9vxq1k2m","type":"function","function":{"name":"get_wifi_status","arguments":"{}"}}]},` +
		`"usage":{"billed_units":{"input_tokens":120,"output_tokens":60},"tokens":{"input_tokens":1200,"output_tokens":80},"cached_tokens":1024}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Codec{}).Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}
