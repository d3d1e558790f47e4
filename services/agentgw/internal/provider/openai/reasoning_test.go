package openai

import (
	"testing"

	"google.golang.org/protobuf/proto"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

func TestReasons(t *testing.T) {
	tests := []struct {
		model, effort string
		want          bool
	}{
		{"o1", "", true}, {"o3-mini", "", true}, {"o4-mini-2025-04-16", "", true}, {"ft:o4-mini:org::1", "", true},
		{"gpt-5", "", true}, {"gpt-5.2-2025-12-11", "", true}, {"openai/gpt-5-mini", "", true}, {"gpt-10", "", true}, {"codex-mini-latest", "", true},
		{"gpt-5-chat-latest", "", false}, {"gpt-5.1-chat-latest", "", false}, {"gpt-4o", "", false}, {"gpt-4.1", "", false},
		{"gpt-3.5-turbo-0125", "", false}, {"gpt-oss-20b", "", false}, {"qwen3", "", false}, {"omni", "", false},
		{"qwen3", "low", true}, {"gpt-4o", "high", true}, {"gpt-5.1", "none", false}, {"o3", "none", false},
	}
	for _, test := range tests {
		m := &agentgwv1.Model{Model: test.model, ReasoningEffort: test.effort, Temperature: proto.Float64(0.5)}
		if got := Reasons(m); got != test.want {
			t.Errorf("Reasons(%s, effort %q): got %t, want %t", test.model, test.effort, got, test.want)
		}
		if got := Temperature(m); (got == nil) != test.want {
			t.Errorf("Temperature(%s, effort %q): got %v, want none: %t", test.model, test.effort, got, test.want)
		}
	}
}
