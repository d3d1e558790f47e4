package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// completer returns the values that a shell offers for the beginning of a word. args are the
// arguments before it.
type completer = cobra.CompletionFunc

// complete makes the shell's completion offer values of flags and arguments. It knows arguments by
// the words of a command's usage line.
func complete(root *cobra.Command) {
	flags := map[string]completer{
		"agent": players(worldv1.Role_ROLE_AGENT), "user": players(worldv1.Role_ROLE_USER),
		"scenarios": listed(scenarioNames), "variants": listed(fixed(catalogue.VariantNames()...)), "pack": packNames,
		"out": runDirectories, "replay": runDirectories, "format": fixed(analysis.Formats...), "split": fixed("all", "train", "val", "test"),
		"services": fixed("recorded", "offline", "live", "record"), "log-level": fixed("debug", "info", "warn", "error"), "log-format": fixed("text", "json"),
	}
	arguments := map[string]completer{"RUN": runDirectories, "SCENARIO": rolloutNames, "NAME": scenarioNames, "PACK": packNames, "ID": sessionNames}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		register := func(flag *pflag.Flag) {
			if of, ok := flags[flag.Name]; ok {
				_ = cmd.RegisterFlagCompletionFunc(flag.Name, of) // fails if it is registered
			}
		}
		cmd.LocalFlags().VisitAll(register)
		if words := argumentWords(cmd.Use); len(words) > 0 {
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
				word := words[min(len(args), len(words)-1)]
				of, ok := arguments[strings.Trim(word, "[].")]
				switch {
				case len(args) >= len(words) && !strings.Contains(word, "..."):
					return nil, cobra.ShellCompDirectiveNoFileComp
				case !ok:
					return nil, cobra.ShellCompDirectiveDefault
				case words[0] == "RUN" && strings.Contains(word, "NAME"):
					of = rolloutNames
				}
				return of(cmd, args, begun)
			}
		}
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(root)
}

// argumentWords returns the words for arguments of a usage line, without its flags.
func argumentWords(use string) []string {
	var words []string
	fields := strings.Fields(use)
	for i, field := range fields {
		if i > 0 && field == strings.ToUpper(field) && !strings.HasPrefix(fields[i-1], "--") {
			words = append(words, field)
		}
	}
	if len(words) == 1 && words[0] == "NAME" && fields[0] == "new" {
		return nil // the name of something new
	}
	return words
}

// fixed offers the same values always.
func fixed(values ...string) completer {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// listed completes the last value of a list with commas.
func listed(of completer) completer {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		before := begun[:strings.LastIndexByte(begun, ',')+1]
		values, directive := of(cmd, args, begun[len(before):])
		for i := range values {
			values[i] = before + values[i]
		}
		return values, directive | cobra.ShellCompDirectiveNoSpace
	}
}

// players offers the players of a role. Of a pattern it offers the fixed beginning.
func players(role worldv1.Role) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		directive := cobra.ShellCompDirectiveNoFileComp
		for _, info := range player.List() {
			if !slices.Contains(info.Roles, role) {
				continue
			}
			name := strings.TrimRight(info.Name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
			name = strings.TrimSuffix(name, "HOST:")
			if strings.HasSuffix(name, ":") || strings.HasSuffix(name, "/") {
				directive |= cobra.ShellCompDirectiveNoSpace
			} else {
				name = info.Name
			}
			names = append(names, name+"\t"+info.Description)
		}
		return names, directive
	}
}

// scenarioNames offers the scenarios of the packs on the command line.
func scenarioNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var from catalogue.Selection
	from.RegisterSourceFlags(pflag.NewFlagSet("sources", pflag.ContinueOnError))
	if packs, err := cmd.Flags().GetStringArray("pack"); err == nil {
		from.PackPaths = packs
	} else if len(args) > 0 { // pack prove PACK NAME
		from.PackPaths = args[:1]
	}
	return from.Names(), cobra.ShellCompDirectiveNoFileComp
}

// packNames offers built-in packs and those in the folder.
func packNames(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return catalogue.PackNames(begun), cobra.ShellCompDirectiveDefault
}

// runDirectories offers the directories with a run, or all if there is none.
func runDirectories(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var runs []string
	for _, file := range []string{results.RunFile, results.SummaryFile} {
		found, _ := filepath.Glob(begun + "*/" + file) // fails for a pattern that is none
		for _, name := range found {
			runs = append(runs, filepath.Dir(name))
		}
	}
	slices.Sort(runs)
	if len(runs) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return slices.Compact(runs), cobra.ShellCompDirectiveNoFileComp
}

// rolloutNames offers the rollouts of the run that the first argument names.
func rolloutNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	run, _ := results.Locate(args[0])
	if summary, err := results.ReadSummary(run); err == nil {
		for _, entry := range summary.Scenarios {
			names = append(names, entry.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// sessionNames offers the rollouts of the run in --out.
func sessionNames(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	out, err := cmd.Flags().GetString("out")
	if err != nil { // the sweeps of services
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return rolloutNames(cmd, []string{out}, "")
}
