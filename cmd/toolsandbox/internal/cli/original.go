package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// This file accepts the command line of the original.

// dashes accepts every flag with underscores, and under the original's name.
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

// asRun makes a command line that begins with a flag one of run: the original has no commands.
func asRun(args []string) []string {
	if len(args) == 0 || len(args[0]) < 2 || args[0][0] != '-' || slices.Contains([]string{"-h", "--help", "--version"}, args[0]) {
		return args
	}
	return append([]string{"run"}, args...)
}
