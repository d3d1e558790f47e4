package results

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// userRollout returns a rollout with a user and flags of these rules, without messages.
func userRollout(user *agentgwv1.Player, rules ...string) Rollout {
	r := Rollout{Rollout: resultfile.Rollout{Result: &busv1.Result{Rollout: &busv1.Rollout{User: user}, MessageCount: 4}}}
	for _, rule := range rules {
		r.Result.UserFlags = append(r.Result.UserFlags, &busv1.UserFlag{Rule: rule, Index: 3, Evidence: "words"})
	}
	return r
}

// withUsage adds usage of turns of these roles.
func withUsage(r Rollout, roles ...worldv1.Role) Rollout {
	for i, role := range roles {
		r.Usage = append(r.Usage, &busv1.TurnUsage{Role: role, Index: int32(i), Usage: &agentgwv1.Usage{}})
	}
	return r
}

// withFailedTurn makes the last turn with usage fail.
func withFailedTurn(r Rollout) Rollout {
	r.Result.End = &busv1.End{Usage: r.Usage[len(r.Usage)-1]}
	return r
}

// withMessages adds messages of these senders after a starting message.
func withMessages(r Rollout, senders ...worldv1.Role) Rollout {
	r.Scenario = &scenariov1.Scenario{Setup: &setupv1.Setup{Messages: []*worldv1.Message{{Sender: worldv1.Role_ROLE_USER}}}}
	r.Messages = r.Scenario.GetSetup().GetMessages()
	for _, sender := range senders {
		r.Messages = append(r.Messages, &worldv1.Message{Sender: sender})
	}
	return r
}

// TestSetUserFlags checks that the counts follow changes of a rollout's flags.
func TestSetUserFlags(t *testing.T) {
	plugin := &agentgwv1.Player{Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{}}}
	first, second := userRollout(plugin, "leak"), userRollout(plugin, "leak", "invented")
	first.Directory, second.Directory = "first", "second"
	var run *Run
	if run.UserChecked() {
		t.Error("Checked of no run: got true")
	}
	run = &Run{}
	run.End(time.Time{}, 2, []Rollout{first, second})
	if !run.UserChecked() {
		t.Fatal("Checked: got false, want true")
	}
	if run.SetUserFlags("second", second.Result.GetUserFlags()) {
		t.Error("SetUserFlags of the same flags: got a change")
	}
	if !run.SetUserFlags("first", nil) {
		t.Error("SetUserFlags of no flags: got no change")
	}
	want := &UserFlagCounts{Rollouts: 2, Flagged: 1, Rate: 0.5, Rules: map[string]int{"leak": 1, "invented": 1}}
	if diff := cmp.Diff(want, run.Totals.UserFlagCounts); diff != "" || run.Rollouts[0].UserFlags != nil {
		t.Errorf("counts with %v (-want +got):\n%s", run.Rollouts[0].UserFlags, diff)
	}
}

// TestUserFlagCounts checks the counts of flags over rollouts with and without a checked user.
func TestUserFlagCounts(t *testing.T) {
	const agentRole, userRole = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER
	scripted := &agentgwv1.Player{Kind: &agentgwv1.Player_Scripted{Scripted: &agentgwv1.Scripted{}}}
	plugin := &agentgwv1.Player{Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{}}}
	model := &agentgwv1.Player{Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{}}}
	silent := userRollout(plugin)
	silent.Result.MessageCount = 0
	tests := map[string]struct {
		rollouts []Rollout
		want     *UserFlagCounts
	}{
		"nobody watched": {[]Rollout{userRollout(scripted), {}}, nil},
		"no flag":        {[]Rollout{userRollout(plugin), userRollout(scripted)}, &UserFlagCounts{Rollouts: 1, Rules: map[string]int{}}},
		"flags": {
			[]Rollout{userRollout(plugin, "leak", "leak", "invented"), userRollout(plugin), userRollout(plugin, "leak"), userRollout(plugin), userRollout(scripted)},
			&UserFlagCounts{Rollouts: 4, Flagged: 2, Rate: 0.5, Rules: map[string]int{"leak": 3, "invented": 1}},
		},
		"nobody spoke": {
			[]Rollout{silent, userRollout(model), withUsage(userRollout(model), agentRole), withFailedTurn(withUsage(userRollout(model), agentRole, userRole)), withMessages(userRollout(plugin)), withMessages(userRollout(model), agentRole)}, nil,
		},
		"some spoke": {
			[]Rollout{
				withUsage(userRollout(model), agentRole, userRole), withFailedTurn(withUsage(userRollout(model), userRole, userRole)), withMessages(userRollout(plugin), agentRole, userRole),
				userRollout(model, "leak"), withFailedTurn(withUsage(userRollout(model), agentRole, userRole)),
			},
			&UserFlagCounts{Rollouts: 4, Flagged: 1, Rate: 0.25, Rules: map[string]int{"leak": 1}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, CountUserFlags(test.rollouts)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
