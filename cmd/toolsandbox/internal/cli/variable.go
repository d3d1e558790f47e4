package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// testVariable is a variable that this program's tests read.
const testVariable = "TOOLSANDBOX_VECTORS"

// everyFlag returns the names of the flags of all commands.
func everyFlag(root *cobra.Command) []string {
	var names []string
	for commands := []*cobra.Command{root}; len(commands) > 0; commands = commands[1:] {
		commands[0].Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		commands = append(commands, commands[0].Commands()...)
	}
	return names
}
