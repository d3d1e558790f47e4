package google

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
)

// signed returns a native turn with a signed call.
func signed(call string) string {
	return `[{"functionCall":{"id":"` + call + `","name":"search_contacts","args":{"phone_number":"+15551234567","limit":3}},"thoughtSignature":"Q2F0"}]`
}

// BenchmarkEncode encodes a request in which every other call is native.
func BenchmarkEncode(b *testing.B) { providertest.Encode(b, Codec{}, signed) }

// BenchmarkDecode decodes an answer with two calls.
func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"candidates": [{"content": {"parts": [{"text": "Let me see."}, {"functionCall": {"name": "search_contacts", "args": {"name": "Jane", ` +
		`"phone_number": "+15550009999"}}, "thoughtSignature": "Q2F0"}, {"functionCall": {"name": "shift_timestamp", "args": {"timestamp": 1716399000, "days": 3}}}], ` +
		`"role": "model"}, "finishReason": "STOP", "index": 0, "avgLogprobs": -0.01}], "usageMetadata": {"promptTokenCount": 310, "candidatesTokenCount": 25, ` +
		`"totalTokenCount": 335, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 310}]}, "modelVersion": "gemini-2.5-pro", "responseId": "x1Yz"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Codec{}).Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}
