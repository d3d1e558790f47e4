package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/runs/report"
)

// asGroup makes a command one that only has subcommands: it prints its help.
func asGroup(cmd *cobra.Command) {
	cmd.Args = unknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// unknownCommand rejects arguments of a command that only has subcommands.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	var deeper []string
	for _, below := range cmd.Commands() {
		if sub, _, err := below.Find(args[:1]); err == nil && sub != below && sub.IsAvailableCommand() {
			deeper = append(deeper, sub.CommandPath())
		}
	}
	if here, ok := foreignCommands()[args[0]]; ok && !cmd.HasParent() {
		return process.UsageErrorf("unknown command %q; here it is %s %s", args[0], cmd.CommandPath(), here)
	}
	if len(deeper) > 0 {
		return process.UsageErrorf("unknown command %q; did you mean %s?", args[0], strings.Join(deeper, " or "))
	}
	if nearest := spelling.Nearest(args[0], names, 2); nearest != "" {
		return process.UsageErrorf("unknown command %q; did you mean %s %s?", args[0], cmd.CommandPath(), nearest)
	}
	return process.UsageErrorf("unknown command %q: see %s --help", args[0], cmd.CommandPath())
}

// checkBuiltins makes cobra's own commands of the root reject what they do not know.
func checkBuiltins(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("completion")
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			asGroup(cmd)
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				group, unknown, err := root.Find(args)
				if err != nil {
					return err
				}
				return unknownCommand(group, unknown)
			}
		}
	}
}

// noArguments rejects arguments as a mistake on the command line.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if cmd.Flags().Lookup("pack") != nil && !strings.HasPrefix(args[0], "-") {
			return process.UsageErrorf("unexpected argument %q; did you mean --pack %s?", args[0], report.ShellWord(args[0]))
		}
		return process.UsageErrorf("unexpected argument %q: see --help", args[0])
	}
	return nil
}
