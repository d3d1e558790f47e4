package results

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestUsageRoundTrip checks that sums survive reading and writing, including zeros.
func TestUsageRoundTrip(t *testing.T) {
	const before = `{"agent":{"input_tokens":0,"cached_tokens":0,"output_tokens":0,"reasoning_tokens":0,"cost_usd":0},` +
		`"user":{"input_tokens":30,"cached_tokens":4,"output_tokens":4,"reasoning_tokens":2,"cost_usd":null}}`
	var read Usage
	if err := json.Unmarshal([]byte(before), &read); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(read)
	if diff := cmp.Diff(before, string(got)); diff != "" || err != nil {
		t.Errorf("got error %v (-want +got):\n%s", err, diff)
	}
}

// TestUsage checks the usage of models per rollout and in total.
func TestUsage(t *testing.T) {
	const agent, user = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER
	turn := func(role worldv1.Role, input, cached, output, reasoning int64, micros *int64) *busv1.TurnUsage {
		return &busv1.TurnUsage{Role: role, Usage: &agentgwv1.Usage{
			InputTokens: input, CachedTokens: cached, OutputTokens: output, ReasoningTokens: reasoning, CostMicros: micros,
		}}
	}
	tests := map[string]struct {
		turns []*busv1.TurnUsage
		want  string
	}{
		"no model": {nil, `null`},
		"agent": {
			[]*busv1.TurnUsage{turn(agent, 10, 4, 3, 2, proto.Int64(1_200_000)), turn(agent, 20, 0, 1, 0, proto.Int64(300_000))},
			`{"agent":{"input_tokens":30,"cached_tokens":4,"output_tokens":4,"reasoning_tokens":2,"cost_usd":1.5}}`,
		},
		"both, one without a price": {
			[]*busv1.TurnUsage{turn(agent, 1, 0, 1, 0, proto.Int64(5)), turn(user, 2, 0, 1, 0, proto.Int64(5)), turn(user, 2, 0, 1, 0, nil)},
			`{"agent":{"input_tokens":1,"cached_tokens":0,"output_tokens":1,"reasoning_tokens":0,"cost_usd":0.000005},` +
				`"user":{"input_tokens":4,"cached_tokens":0,"output_tokens":2,"reasoning_tokens":0,"cost_usd":null}}`,
		},
		"one without its tokens": {
			[]*busv1.TurnUsage{turn(agent, 10, 4, 3, 2, proto.Int64(1_200_000)), turn(agent, 0, 0, 0, 0, nil)},
			`{"agent":{"input_tokens":10,"cached_tokens":4,"output_tokens":3,"reasoning_tokens":2,"cost_usd":null,"requests_without_usage":1}}`,
		},
		"all without their tokens": {
			[]*busv1.TurnUsage{{Role: user}, turn(user, 0, 0, 0, 0, nil)},
			`{"user":{"input_tokens":null,"cached_tokens":null,"output_tokens":null,"reasoning_tokens":null,"cost_usd":null,"requests_without_usage":2}}`,
		},
	}
	for name, test := range tests {
		r := Rollout{Rollout: resultfile.Rollout{
			Scenario: &scenariov1.Scenario{Setup: &setupv1.Setup{Name: "s"}},
			Result:   &busv1.Result{End: &busv1.End{Reason: busv1.EndReason_END_REASON_MODEL_FAILURE}},
		}, Usage: test.turns}
		run := &Run{}
		run.End(time.Time{}, 1, []Rollout{r})
		for _, usage := range []*Usage{run.Rollouts[0].Usage, run.Totals.Usage} {
			got, err := json.Marshal(usage)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}
