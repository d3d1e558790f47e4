package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// The command line of the original works here as it is: this file knows how it is written.

// dashes lets every flag be written with underscores, and by the name that the original has for it.
func dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	switch name {
	case "output-dir":
		name = "out"
	case "scenario":
		name = "scenarios"
	case "scenario-dir":
		name = "pack"
	}
	return pflag.NormalizedName(name)
}

// asRun lets a command line that begins with a flag be one of run: the original has no commands, so
// that its users write none.
func asRun(args []string) []string {
	if len(args) == 0 || len(args[0]) < 2 || args[0][0] != '-' || slices.Contains([]string{"-h", "--help", "--version"}, args[0]) {
		return args
	}
	return append([]string{"run"}, args...)
}
