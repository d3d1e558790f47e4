package play

import (
	"testing"

	"github.com/spf13/pflag"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// TestUserTokens sets the longest answer of a simulated user.
func TestUserTokens(t *testing.T) {
	for name, test := range map[string]struct {
		user   string
		args   []string
		compat bool
		want   int32
	}{
		"default":     {"openai:gpt-4o", nil, false, defaultUserTokens},
		"given":       {"openai:gpt-4o", []string{"--user-max-tokens", "99"}, false, 99},
		"of --agent":  {"openai:gpt-4o", []string{"--max-tokens", "99"}, false, defaultUserTokens},
		"reasons":     {"openai:gpt-5", []string{"--user-reasoning-effort", "high"}, false, 0},
		"compat":      {"openai:gpt-4o", nil, true, 0},
		"not a model": {"scripted", nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			agent, err := player.Parse(worldv1.Role_ROLE_AGENT, "openai:m")
			if err != nil {
				t.Fatal(err)
			}
			user, err := player.Parse(worldv1.Role_ROLE_USER, test.user)
			if err != nil {
				t.Fatal(err)
			}
			var options modelOptions
			flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
			options.register(flags)
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			if err := options.apply(agent, user, test.compat); err != nil {
				t.Fatal(err)
			}
			if got := user.GetModel().GetMaxTokens(); got != test.want {
				t.Errorf("tokens of the user: got %d, want %d", got, test.want)
			}
		})
	}
}

// TestSameModel compares models: a fork keeps the native form of turns only for the same one, whose
// server can read it.
func TestSameModel(t *testing.T) {
	own := &agentgwv1.Model{Provider: "openai", Model: "m", BaseUrl: "http://localhost:8000/v1"}
	for _, test := range []struct {
		other *agentgwv1.Model
		want  bool
	}{
		{&agentgwv1.Model{Provider: "openai", Model: "m", BaseUrl: "http://localhost:8000/v1", MaxTokens: 5}, true},
		{&agentgwv1.Model{Provider: "openai", Model: "m"}, false},
		{&agentgwv1.Model{Provider: "openai", Model: "n", BaseUrl: "http://localhost:8000/v1"}, false},
		{&agentgwv1.Model{Provider: "groq", Model: "m", BaseUrl: "http://localhost:8000/v1"}, false},
		{nil, false},
	} {
		if got := isSameModel(own, test.other); got != test.want || isSameModel(test.other, own) != got {
			t.Errorf("%v: got %t, want %t", test.other, got, test.want)
		}
	}
	if isSameModel(nil, nil) {
		t.Error("no models: got the same one")
	}
}
