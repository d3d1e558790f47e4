package results

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestUserContract counts flags over rollouts with and without a user that is watched, and keeps the count in another scoring.
func TestUserContract(t *testing.T) {
	played := func(user *agentgwv1.Player, rules ...string) Rollout {
		r := Rollout{Result: &busv1.Result{Rollout: &busv1.Rollout{User: user}}}
		for _, rule := range rules {
			r.Flags = append(r.Flags, &busv1.Flag{Rule: rule, Index: 3, Evidence: "words"})
		}
		return r
	}
	scripted := &agentgwv1.Player{Kind: &agentgwv1.Player_Scripted{Scripted: &agentgwv1.Scripted{}}}
	plugin := &agentgwv1.Player{Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{}}}
	tests := map[string]struct {
		rollouts []Rollout
		want     *UserContract
	}{
		"nobody watched": {[]Rollout{played(scripted), {}}, nil},
		"no flag":        {[]Rollout{played(plugin), played(scripted)}, &UserContract{Rollouts: 1, Rules: map[string]int{}}},
		"flags": {
			[]Rollout{played(plugin, "leak", "leak", "invented"), played(plugin), played(plugin, "leak"), played(plugin), played(scripted)},
			&UserContract{Rollouts: 4, Flagged: 2, Rate: 0.5, Rules: map[string]int{"leak": 3, "invented": 1}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			summary := Summarize(test.rollouts)
			if diff := cmp.Diff(test.want, summary.UserContract); diff != "" {
				t.Errorf("Summarize (-want +got):\n%s", diff)
			}
			again, err := summary.With(summary.Scenarios)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, again.UserContract); diff != "" {
				t.Errorf("With (-want +got):\n%s", diff)
			}
		})
	}
}
