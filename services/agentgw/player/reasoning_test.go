package player

import (
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
)

// leastBudget is Anthropic's smallest budget.
const leastBudget = 1024

func TestSetReasoning(t *testing.T) {
	tests := []struct {
		name        string
		effort      string
		budget      int32
		temperature bool
		tokens      int32
		want        string // of the error
	}{
		{"oracle", "", 0, false, 0, ""},
		{"openai:m", "xhigh", 0, false, 0, ""},
		{"openai:m", "none", 0, true, 0, ""},
		{"openai-responses:m", "low", 0, false, 0, ""},
		{"google:m", "minimal", 0, true, 0, ""},
		{"vertex:m", "", 1, false, 0, ""},
		{"cohere:m", "", maxBudget, true, 0, ""},
		{"anthropic:m", "", leastBudget, false, leastBudget + 1, ""},
		{"oracle", "low", 0, false, 0, "is no model"},
		{"openai-responses:m", "low", 0, true, 0, "--temperature: given together with reasoning"},
		{"openai:m", "", 5, false, 0, "expected --reasoning-effort"},
		{"google:m", "xhigh", 0, false, 0, "expected one of none, minimal, low, medium, high"},
		{"vertex:m", "low", 5, false, 0, "both given"},
		{"cohere:m", "low", 0, false, 0, "expected --thinking-budget"},
		{"cohere:m", "", maxBudget + 1, false, 0, "expected 1 to 1000000 tokens"},
		{"anthropic:m", "", leastBudget - 1, false, 0, "expected at least 1024 tokens"},
		{"anthropic:m", "", leastBudget, true, 0, "--temperature: given together with reasoning"},
		{"anthropic:m", "", leastBudget, false, leastBudget, "--max-tokens: 1024 given"},
	}
	for _, test := range tests {
		p, err := Parse(agent, test.name)
		if err != nil {
			t.Fatal(err)
		}
		if m := p.GetModel(); m != nil {
			m.MaxTokens = test.tokens
			if test.temperature {
				m.Temperature = proto.Float64(1)
			}
		}
		err = SetReasoning(p, "", test.effort, test.budget)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, effort %q, budget %d: got %v, want %q", test.name, test.effort, test.budget, err, test.want)
		}
		if m := p.GetModel(); test.want == "" && (m.GetReasoningEffort() != test.effort || m.GetThinkingBudget() != test.budget) {
			t.Errorf("%s, effort %q, budget %d: got %v, want them", test.name, test.effort, test.budget, p)
		}
		if err := protovalidate.Validate(p); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
