package anthropic

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
)

func BenchmarkEncode(b *testing.B) { providertest.Encode(b, Codec{}, nil) }

func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"id":"msg_013Zva2CMHLNnXjNJJKqJ2EF","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"I look both of them up."},` +
		`{"type":"tool_use","id":"toolu_01A09q90qw90lq917835lq9","name":"search_contacts","input":{"name":"Homer S","limit":5}},` +
		`{"type":"tool_use","id":"toolu_01A09q90qw90lq917835lq8","name":"search_reminder","input":{"content":"four o'clock","limit":1}}],` +
		`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":2095,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":103}}`)
	b.ReportAllocs()
	for b.Loop() {
		got, err := Codec{}.Decode(body)
		if err != nil || len(got.Calls) != 2 {
			b.Fatalf("got %+v and %v, want two calls", got, err)
		}
	}
}
