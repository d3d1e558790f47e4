package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// exitCode is the meaning of an exit code of commands.
type exitCode struct {
	code int
	// commands are the commands, below toolsandbox. None means all.
	commands []string
	// meaning continues "if".
	meaning string
}

// exitCodes lists all exit codes. Help and docs/cli.md show them.
func exitCodes() []exitCode {
	return []exitCode{
		{process.ExitOK, nil, "the command did what it says"},
		{process.ExitFailure, nil, "the command failed or was interrupted; a second signal ends it with the signal's own code"},
		{process.ExitUsage, nil, "the command line, the environment or a settings file has a mistake, or a named run, scenario or pack does not exist; nothing was played or written"},
		{process.ExitFailure, []string{"run"}, "a rollout has no score because something other than the agent failed, a limit of spending was reached, or a replayed rollout differs"},
		{process.ExitFailure, []string{"scenario validate", "pack validate"}, "a file has a mistake"},
		{process.ExitFailure, []string{"scenario prove", "pack prove"}, "a scenario is not proven, or a tool has a defect"},
		{process.ExitFailure, []string{"scenario fmt"}, "--check is given and a file would change"},
		{process.ExitFailure, []string{"scenario import"}, "the file has a mistake; nothing was written"},
		{process.ExitFailure, []string{"session replay"}, "an answer or a table differs"},
		{process.ExitFailure, []string{"sweep watch"}, "the sweep reached its limit of spending"},
		{process.ExitCancelled, []string{"run", "sweep watch"}, "the sweep was cancelled (toolsandbox sweep cancel)"},
		{process.ExitFailure, []string{"bench"}, "a rollout failed"},
	}
}

// describeExitCodes adds to the help of each command what its exit codes mean beyond those of all.
func describeExitCodes(root *cobra.Command) {
	for _, exit := range exitCodes() {
		for _, name := range exit.commands {
			cmd, _, err := root.Find(strings.Fields(name))
			if err != nil {
				continue // a test finds it
			}
			cmd.Long += "\n\n" + strings.Join(fold(fmt.Sprintf("The exit code is %d if %s.", exit.code, exit.meaning), helpWidth), "\n")
		}
	}
}
