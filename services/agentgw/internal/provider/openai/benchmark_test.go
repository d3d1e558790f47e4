package openai

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
)

// answered is an answer with two calls.
const answered = `{"id":"chatcmpl-1","object":"chat.completion","created":1720000000,"model":"gpt-4o-2024-05-13","choices":[{"index":0,"message":` +
	`{"role":"assistant","content":null,"tool_calls":[` +
	`{"id":"call_1","type":"function","function":{"name":"search_contacts","arguments":"{\"name\": \"Ada\", \"is_self\": false}"}},` +
	`{"id":"call_2","type":"function","function":{"name":"get_wifi_status","arguments":"{}"}}],"refusal":null,"annotations":[]},` +
	`"logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1200,"completion_tokens":60,"total_tokens":1260,` +
	`"prompt_tokens_details":{"cached_tokens":1024,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,` +
	`"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"service_tier":"default","system_fingerprint":"fp_1"}`

func BenchmarkEncode(b *testing.B) { providertest.Encode(b, Codec{}, nil) }

// BenchmarkDecode decodes an answer with two calls.
func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Codec{}).Decode([]byte(answered)); err != nil {
			b.Fatal(err)
		}
	}
}
