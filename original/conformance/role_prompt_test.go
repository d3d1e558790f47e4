package conformance

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
)

func TestPlainTokens(t *testing.T) {
	for text, want := range map[string]string{
		"[INST]\u2581a\u2581b<0x0A><0xC3><0xA9>[/INST]":                      "[INST] a b\né[/INST]",
		`{"id": "abc123XYZ", "call_id": "000000002"}`:                        `{"id": "-", "call_id": "-"}`,
		`{"id": "short", "person_id": "000000001"} <0x0a> <0xG0> <0x0A0x0A>`: `{"id": "short", "person_id": "000000001"} <0x0a> <0xG0> <0x0A0x0A>`,
	} {
		if got := decodeTokens(text); got != want {
			t.Errorf("plainTokens(%q): got %q, want %q", text, got, want)
		}
	}
}

// TestTemplatePrompt checks that each missing or changed part of a prompt is a difference.
func TestTemplatePrompt(t *testing.T) {
	request := &roleRequest{BeforeTemplate: json.RawMessage(`{
		"conversation": [{"role": "system", "content": "S"}, {"role": "user", "content": " U "},
			{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": "{\"a\": 1}"}}]},
			{"role": "tool", "content": "R"}, {"role": "assistant", "content": "A"}],
		"tools": [{"name": "f", "description": {"sha256": "", "chars": 1}, "parameter_definitions": {
			"a": {"type": "number", "description": "D", "required": true}, "b": {"type": "string", "description": "D", "required": false}}}]
	}`)}
	want := map[string]any{}
	if err := templatePrompt(request, want, nil); err != nil {
		t.Fatal(err)
	}
	masked, _ := want[promptField].(string)
	const turn, end = "<|START_OF_TURN_TOKEN|>", turnEnd
	prompt := turn + "<|SYSTEM_TOKEN|># x\nS\n```\ndef f(a: number, b: Optional[string] = None) -> List[Dict]:\n    \"\"\"text\n\n    Args:\n        a (number): D\n        b (Optional[string]): D\n    \"\"\"\n    pass\n```" + end +
		turn + "<|USER_TOKEN|>U" + end + turn + `<|CHATBOT_TOKEN|>Action: "f": {"a": 1}.` + end + turn + "<|SYSTEM_TOKEN|><R>" + end +
		turn + "<|CHATBOT_TOKEN|>A" + end + turn + "<|SYSTEM_TOKEN|>text" + end + turn + "<|CHATBOT_TOKEN|>"
	if !matches(masked, prompt) {
		t.Errorf("got no match of\n%s\nwith\n%s", prompt, masked)
	}
	for _, part := range []string{"\nS", "a: number, ", " = None", "b (Optional[string]): D", "U", `"f"`, `{"a": 1}`, "R>", "A<", end} {
		if changed := strings.Replace(prompt, part, "", 1); matches(masked, changed) {
			t.Errorf("without %q: got a match of\n%s\nwith\n%s", part, changed, masked)
		}
	}
	for _, broken := range []string{``, `{"tools": [{"name": "f"}]}`, `{"tools": [{"parameter_definitions": {"a": 1}}]}`} {
		if err := templatePrompt(&roleRequest{BeforeTemplate: json.RawMessage(broken)}, want, nil); err == nil {
			t.Errorf("%q: got no error", broken)
		}
	}
}

// TestPromptVectors checks that every recorded prompt can be rewritten.
func TestPromptVectors(t *testing.T) {
	for _, k := range roleKinds() {
		if k.prompt == nil {
			continue
		}
		file := vectortest.Dir(t, filepath.Join("roles", k.file))
		vectortest.Lines(t, file, func(number int, raw []byte) {
			c, err := decodeRole(raw)
			if err != nil || c.Request == nil {
				return
			}
			var want map[string]any
			if err := json.Unmarshal(c.Request.Body, &want); err != nil {
				t.Fatal(err)
			}
			if err := k.prompt(c.Request, want, map[string]any{}); err != nil {
				t.Errorf("%s:%d: %v", file, number, err)
			}
			if text, ok := want[promptField].(string); !ok || text == "" || strings.Contains(text, "\u2581") {
				t.Errorf("%s:%d: got prompt %v, want plain text", file, number, want[promptField])
			}
		})
	}
}
