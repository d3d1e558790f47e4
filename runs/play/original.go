package play

import (
	"fmt"
	"io"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/process"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

const (
	// originalPrefix may begin a player's name, as in the original.
	originalPrefix = "RoleImplType."
	// originalPlayer is the original's default for both roles.
	originalPlayer = "GPT_4_o_2024_05_13"
)

// applyOriginal sets the original's defaults if its scenarios are played, and prints those that
// apply.
func (o *Options) applyOriginal(stderr io.Writer) error {
	if !o.scenarios.IsOriginal() {
		return nil
	}
	var defaults []string
	type choice struct {
		name, value string
		apply       func()
	}
	choices := []choice{
		{"agent", originalPlayer, func() { o.agent = originalPlayer }},
		{"user", originalPlayer, func() { o.user = originalPlayer }},
	}
	if !process.IsSet(o.flags.Lookup("test-mode")) { // it names its variants
		choices = append(choices, choice{"variants", catalogue.AllVariants, o.scenarios.SelectAsOriginal})
	}
	for _, flag := range choices {
		if !process.IsSet(o.flags.Lookup(flag.name)) {
			flag.apply()
			defaults = append(defaults, fmt.Sprintf("--%s %s", flag.name, flag.value))
		}
	}
	if len(defaults) == 0 {
		return nil
	}
	return report.Warn(stderr, "%s has the original's scenarios, and so its defaults: %s", o.scenarios.SourceNames(), strings.Join(defaults, ", "))
}

// separate sends a user with one of the original's names to its provider if the variable of its
// address names the agent's server, and prints that.
func separate(agent, user *agentgwv1.Player, stderr io.Writer) error {
	address, variable := player.SeparateUser(agent, user)
	if address == "" {
		return nil
	}
	return report.Warn(stderr, "--user %s is asked at %s, as in the original: %s is the server of --agent %s; --user-base-url names another address",
		user.GetName(), address, variable, agent.GetName())
}
