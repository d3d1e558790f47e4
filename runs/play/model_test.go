package play

import (
	"testing"

	"github.com/spf13/pflag"

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
