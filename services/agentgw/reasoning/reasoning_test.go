package reasoning

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestOf finds reasoning in the answers of each provider, and none in what is none.
func TestOf(t *testing.T) {
	for name, test := range map[string]struct{ provider, answer, want string }{
		"Anthropic":           {"anthropic", `{"content":[{"type":"thinking","thinking":"First.","signature":"x"},{"type":"redacted_thinking","data":"zzz"},{"type":"thinking","thinking":"Then."},{"type":"text","text":"Said."}]}`, "First.\n\nThen."},
		"responses":           {"openai-responses", `{"output":[{"type":"reasoning","encrypted_content":"zzz","summary":[{"type":"summary_text","text":"Short."}],"content":[{"type":"reasoning_text","text":"Long."}]},{"type":"message","content":[{"type":"output_text","text":"Said."}]}]}`, "Short.\n\nLong."},
		"responses, hidden":   {"openai-responses", `{"output":[{"type":"reasoning","encrypted_content":"zzz","summary":[]}]}`, ""},
		"Google":              {"google", `{"candidates":[{"content":{"parts":[{"thought":true,"text":"Hm."},{"text":"Said."},{"thoughtSignature":"x","functionCall":{}}]}}]}`, "Hm."},
		"Cohere":              {"cohere", `{"message":{"tool_plan":"I will call.","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Said."}]}}`, "I will call.\n\nHm."},
		"DeepSeek":            {"openai", `{"choices":[{"message":{"reasoning_content":"Hm.","content":"Said."}}]}`, "Hm."},
		"vLLM, both":          {"openai", `{"choices":[{"message":{"reasoning_content":"Hm.","reasoning":"Hm.","content":"Said."}}]}`, "Hm."},
		"OpenRouter":          {"openai", `{"choices":[{"message":{"reasoning_details":[{"type":"reasoning.text","text":"Hm."},{"type":"reasoning.summary","summary":"So."},{"type":"reasoning.encrypted","data":"zzz"}]}}]}`, "Hm.\n\nSo."},
		"tags":                {"openai", `{"choices":[{"message":{"content":"<think>Hm.</think>Said."}}]}`, "Hm."},
		"tags of completions": {"hermes", `{"choices":[{"text":"Hm.</think>Said."}]}`, "Hm."},
		"a stream":            {"openai", "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"H\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"reasoning_content\":\"m.\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"Said.\"}}]}\n\ndata: [DONE]\n\n", "Hm."},
		"none":                {"openai", `{"choices":[{"message":{"content":"Said."}}]}`, ""},
		"other forms":         {"openai", `{"content":3,"output":{},"choices":[null,7],"candidates":[{"content":[]}],"message":"x"}`, ""},
		"of another provider": {"openai", `{"content":[{"type":"thinking","thinking":"Hm."}],"output":[{"type":"reasoning","summary":[{"text":"Hm."}]}]}`, ""},
		"a list":              {"openai", `[]`, ""},
		"cut off":             {"openai", `{"choices":[{"message":{"reasoning_content":"H`, ""},
		"nothing":             {"openai", ``, ""},
	} {
		if got := Of(test.provider, []byte(test.answer)); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// FuzzOf reads any body: what it finds is text of a valid encoding.
func FuzzOf(f *testing.F) {
	f.Add("openai", `{"choices":[{"message":{"reasoning":"Hm.","content":[{"type":"thinking","thinking":"\ud800"}]}}]}`)
	f.Add("openai-responses", `{"output":[{"type":"reasoning","summary":[{"text":"<think>"}]}]}`)
	f.Fuzz(func(t *testing.T, provider, answer string) {
		if got := Of(provider, []byte(answer)); !utf8.ValidString(got) || got != strings.TrimSpace(got) {
			t.Errorf("%s, %q: got %q", provider, answer, got)
		}
	})
}
