package providers_test

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"
)

// TestRefusal reads how the wire formats say that the model refused or that a filter blocked an
// answer, and answers that only look like it.
func TestRefusal(t *testing.T) {
	dialects, err := dialect.Load("")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ provider, body, text, want string }{
		{"openai", `{"choices":[{"message":{"content":null,"refusal":"I can't help."},"finish_reason":"stop"}]}`, "I can't help.", "refusal: I can't help."},
		{"openai", `{"choices":[{"message":{"content":"x","refusal":"no"},"finish_reason":"stop"}]}`, "x", "refusal: no"},
		{"openai", `{"choices":[{"message":{"content":"It is"},"finish_reason":"content_filter"}]}`, "It is", "content_filter"},
		{
			"openai", `{"choices":[{"finish_reason":"content_filter","content_filter_results":{"violence":{"filtered":true},"hate":{"filtered":true},"jailbreak":{"filtered":false},"x":5}}]}`,
			"", "content_filter: hate, violence",
		},
		{"openai", `{"choices":[{"message":{"content":"x"},"finish_reason":"content_filter","content_filter_results":[]}]}`, "x", "content_filter"},
		{"openai", `{"choices":[{"finish_reason":"content_filter: PROHIBITED_CONTENT"}]}`, "", "content_filter: PROHIBITED_CONTENT"},
		{"openai", `{"choices":[{"message":{"content":""},"finish_reason":"guardrail_intervened"}]}`, "", "guardrail_intervened"},
		{"openai", "data: {\"choices\":[{\"index\":0,\"delta\":{\"refusal\":\"I \"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"refusal\":\"can't\"},\"finish_reason\":\"stop\"}]}\n\n", "I can't", "refusal: I can't"},
		{"openai", `{"choices":[{"message":{"content":"","refusal":""},"finish_reason":"stop"}]}`, "", ""},
		{"openai", `{"choices":[{"message":{"content":"refusal"},"finish_reason":"length"}]}`, "refusal", ""},
		{"openai-responses", `{"output":[{"type":"message","content":[{"text":"Hm. "},{"refusal":"no"}]}]}`, "Hm. no", "refusal: no"},
		{"openai-responses", `{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, "", "content_filter"},
		{"openai-responses", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`, "", ""},
		{"anthropic", `{"content":[],"stop_reason":"refusal"}`, "", "refusal"},
		{
			"anthropic", `{"content":[{"type":"text","text":"So"}],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"It asks for malware."}}`,
			"So", "refusal: cyber: It asks for malware.",
		},
		{"anthropic", `{"content":[],"stop_reason":"refusal","stop_details":{"category":null,"explanation":null}}`, "", "refusal"},
		{"anthropic", `{"content":[],"stop_reason":"refusal","stop_details":"cyber"}`, "", "refusal"},
		{"anthropic", `{"content":[],"stop_reason":"end_turn"}`, "", ""},
		{"google", `{"promptFeedback":{"blockReason":"OTHER","blockReasonMessage":"not now"}}`, "", "OTHER: not now"},
		{"google", `{"candidates":[{"finishReason":"PROHIBITED_CONTENT","finishMessage":5}]}`, "", "PROHIBITED_CONTENT"},
		{"google", `{"candidates":[{"content":{"parts":[{"text":"To be"}]},"finishReason":"RECITATION","finishMessage":"a play"}]}`, "To be", "RECITATION: a play"},
		{"google", `{"candidates":[{"content":{"parts":[]},"finishReason":"SPII"}]}`, "", "SPII"},
		{"google", `{"candidates":[{"content":{"parts":[]},"finishReason":"MALFORMED_FUNCTION_CALL"}]}`, "", ""},
		{"cohere", `{"finish_reason":"ERROR_TOXIC","message":{"content":[{"type":"text","text":"x"}]}}`, "x", "ERROR_TOXIC"},
		{"cohere", `{"finish_reason":"ERROR_TOXIC"}`, "", "ERROR_TOXIC"},
		{"cohere", `{"finish_reason":"COMPLETE","message":{"content":[{"type":"text","text":"x"}]}}`, "x", ""},
		{"hermes", `{"choices":[{"text":"x","finish_reason":"content_filter"}]}`, "x", "content_filter"},
		{"hermes", `{"choices":[{"finish_reason":"content_filter"}]}`, "", "content_filter"},
		{"hermes", `{"choices":[{"text":"x","finish_reason":"stop"}]}`, "x", ""},
	} {
		spec, known := providers.Named(providers.All(dialects), test.provider)
		if !known {
			t.Fatalf("%s: no such provider", test.provider)
		}
		got, err := spec.Codec.Decode([]byte(test.body))
		if err != nil || got.Text != test.text || got.Refusal != test.want {
			t.Errorf("%s, %s: got %+v and %v, want text %q and refusal %q", test.provider, test.body, got, err, test.text, test.want)
		}
	}
}
