package report

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func TestUsage(t *testing.T) {
	result := &busv1.Result{Rollout: &busv1.Rollout{
		Agent: &agentgwv1.Player{Name: "openai:qwen3"}, User: &agentgwv1.Player{Name: "openai:gpt-4o"},
	}}
	agent := &busv1.TurnUsage{Role: worldv1.Role_ROLE_AGENT, Usage: &agentgwv1.Usage{InputTokens: 1_234_567, OutputTokens: 89}}
	user := &busv1.TurnUsage{Role: worldv1.Role_ROLE_USER, Usage: &agentgwv1.Usage{
		InputTokens: 12_345, CachedTokens: 1000, OutputTokens: 2345, ReasoningTokens: 12, CostMicros: proto.Int64(123_456),
	}}
	silent := &busv1.TurnUsage{Role: worldv1.Role_ROLE_AGENT, Usage: &agentgwv1.Usage{}}
	tests := map[string]struct {
		rows []Row
		want string
	}{
		"none":       {[]Row{{Result: result}}, ""},
		"priced":     {[]Row{{Result: result, Usage: []*busv1.TurnUsage{user}}}, "\nmodels: 12,345 tokens in (1,000 cached), 2,345 out (12 for reasoning), about $0.12 if the price table is right\n"},
		"unknown":    {[]Row{{Result: result, Usage: []*busv1.TurnUsage{agent, agent}}}, "\nmodels: 2,469,134 tokens in, 178 out, cost unknown: no price for openai:qwen3\n"},
		"not stated": {[]Row{{Result: result, Usage: slices.Repeat([]*busv1.TurnUsage{silent}, 1234)}}, "\nmodels: 1,234 requests of openai:qwen3, tokens not reported\n"},
		"one not stated": {
			[]Row{{Result: result, Usage: []*busv1.TurnUsage{user, silent}}},
			"\nmodels: 12,345 tokens in (1,000 cached), 2,345 out (12 for reasoning), about $0.12 if the price table is right; 1 request of openai:qwen3, tokens not reported\n",
		},
		"both": {
			[]Row{{Result: result, Usage: []*busv1.TurnUsage{agent}}, {Result: result, Usage: []*busv1.TurnUsage{user}}},
			"\nmodels: 1,246,912 tokens in (1,000 cached), 2,434 out (12 for reasoning), about $0.12 if the price table is right, without openai:qwen3 (no price)\n",
		},
	}
	for name, test := range tests {
		var b strings.Builder
		if err := WriteUsage(&b, test.rows); err != nil || b.String() != test.want {
			t.Errorf("%s: got %q and %v, want %q", name, b.String(), err, test.want)
		}
	}
}
