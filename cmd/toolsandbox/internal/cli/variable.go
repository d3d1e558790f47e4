package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// testVariable is a variable of this program's tests.
const testVariable = "TOOLSANDBOX_VECTORS"

// everyFlag returns the names of the flags of all commands.
func everyFlag(root *cobra.Command) []string {
	var names []string
	visitCommands(root, func(cmd *cobra.Command) {
		visitFlags(cmd, func(flag *pflag.Flag) { names = append(names, flag.Name) })
	})
	return names
}
