package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/launch"
	"github.com/toolsandbox/toolsandbox/internal/mesh"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	"github.com/toolsandbox/toolsandbox/services/agentgw"
	"github.com/toolsandbox/toolsandbox/services/evaluator"
	"github.com/toolsandbox/toolsandbox/services/orchestrator"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// testVariable is a variable that this program's tests read.
const testVariable = "TOOLSANDBOX_VECTORS"

// everyFlag returns the names of the flags of all commands and of all services, which read the same
// environment.
func everyFlag(root *cobra.Command) []string {
	var names []string
	add := func(flag *pflag.Flag) { names = append(names, flag.Name) }
	for commands := []*cobra.Command{root}; len(commands) > 0; commands = commands[1:] {
		commands[0].Flags().VisitAll(add)
		commands = append(commands, commands[0].Commands()...)
	}
	logging, network, export := launch.DefaultLog(), mesh.DefaultConfig(), telemetry.DefaultConfig()
	conducting, hosting, playing, judging := orchestrator.DefaultConfig(), toolhost.DefaultConfig(), agentgw.DefaultConfig(), evaluator.DefaultConfig()
	for _, register := range []func(*pflag.FlagSet){
		logging.RegisterFlags, network.RegisterFlags, export.RegisterFlags,
		conducting.RegisterFlags, hosting.RegisterFlags, playing.RegisterFlags, judging.RegisterFlags,
	} {
		flags := pflag.NewFlagSet("service", pflag.ContinueOnError)
		register(flags)
		flags.VisitAll(add)
	}
	return names
}
