package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

func TestToolName(t *testing.T) {
	tests := map[string]string{
		"send_message-2": "send_message-2", "multi_tool_use.parallel": "multi_tool_use_parallel", "größe": "gr__e", "": "unnamed",
		"a b\xff": "a_b_", strings.Repeat("x", 65): strings.Repeat("x", 64),
	}
	for name, want := range tests {
		entry := conversation.Entry{Kind: conversation.ToolCall, Name: name}
		got := ToolName(&provider.Query{}, entry)
		if got != want || !ValidName(got) {
			t.Errorf("Name(%q): got %q, sendable: %t, want %q", name, got, ValidName(got), want)
		}
		if got := ToolName(&provider.Query{Compat: true}, entry); got != name {
			t.Errorf("Name(%q) in compatible mode: got %q, want the same", name, got)
		}
	}
}

// TestArguments sends arguments verbatim. Compatible servers get objects only, except with compat.
func TestArguments(t *testing.T) {
	tests := map[string]struct {
		arguments       python.Value
		own, compatible string
	}{
		"object":         {python.DictOf(python.Item{Key: "b", Value: python.Int(1)}, python.Item{Key: "a", Value: python.Str("é")}), `{"b": 1, "a": "\u00e9"}`, `{"b": 1, "a": "\u00e9"}`},
		"cut":            {python.Str(`{"a": "x`), `{"a": "x`, "{}"},
		"object as text": {python.Str(` {"a": 1}`), ` {"a": 1}`, ` {"a": 1}`},
		"two values":     {python.Str(`{} {}`), `{} {}`, "{}"},
		"empty":          {python.Str(""), "", "{}"},
		"null":           {python.Value{}, "null", "{}"},
		"list":           {python.List(python.Int(1)), "[1]", "{}"},
	}
	for name, test := range tests {
		entry := conversation.Entry{Kind: conversation.ToolCall, Name: "f", Arguments: test.arguments}
		for _, q := range []*provider.Query{{Official: true}, {Official: true, Compat: true}, {Compat: true}, {}} {
			want := test.own
			if !q.Official && !q.Compat {
				want = test.compatible
			}
			if diff := cmp.Diff(want, Arguments(q, entry)); diff != "" {
				t.Errorf("%s, own address %t, compatible mode %t (-want +got):\n%s", name, q.Official, q.Compat, diff)
			}
		}
	}
}
