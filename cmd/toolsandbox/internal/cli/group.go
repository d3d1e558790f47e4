package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the width of a line of grouped flags.
const helpWidth = 120

// group is a heading with flags of a command.
type group struct {
	title string
	flags []string
}

// writeGroups writes help that shows only these flags, under their headings and in this order.
func writeGroups(w io.Writer, cmd *cobra.Command, groups []group, rest string) error {
	var out strings.Builder
	fmt.Fprintf(&out, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
	widest := 0
	for _, g := range groups {
		for _, name := range g.flags {
			widest = max(widest, len(flagWords(cmd.Flags().Lookup(name))))
		}
	}
	for _, g := range groups {
		fmt.Fprintf(&out, "\n%s:\n", g.title)
		for _, name := range g.flags {
			flag := cmd.Flags().Lookup(name)
			indent := strings.Repeat(" ", widest+4)
			meaning := fold(flagMeaning(flag), helpWidth-len(indent))
			fmt.Fprintf(&out, "  %-*s  %s\n", widest, flagWords(flag), strings.Join(meaning, "\n"+indent))
		}
	}
	fmt.Fprintf(&out, "\n%s\n", rest)
	_, err := io.WriteString(w, out.String())
	return err
}

// flagWords returns a flag with the name of its value.
func flagWords(flag *pflag.Flag) string {
	words := "    --" + flag.Name
	if flag.Shorthand != "" {
		words = "-" + flag.Shorthand + ", --" + flag.Name
	}
	kind, _ := pflag.UnquoteUsage(flag)
	if kind == "" {
		return words
	}
	return words + " " + kind
}

// flagMeaning returns a flag's description with its default.
func flagMeaning(flag *pflag.Flag) string {
	_, meaning := pflag.UnquoteUsage(flag)
	if nothing := []string{"", "0", "0s", "false", "[]"}; !slices.Contains(nothing, flag.DefValue) {
		meaning += fmt.Sprintf(" (default %s)", strings.Trim(flag.DefValue, "[]"))
	}
	return meaning
}

// fold wraps a text at spaces into lines of at most width bytes.
func fold(text string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines) - 1; n >= 0 && len(lines[n])+1+len(word) <= width {
			lines[n] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
