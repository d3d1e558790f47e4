package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// program returns the build information. A build outside a repository, or by go run, has no commit.
func program() results.Program {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return results.Program{}
	}
	p := results.Program{Version: info.Main.Version, Go: info.GoVersion}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			p.Commit = setting.Value
		case "vcs.modified":
			p.Modified = setting.Value == "true"
		}
	}
	return p
}

// programText returns program in one line.
func programText() string {
	p := program()
	commit := p.Commit
	if commit == "" {
		commit = "unknown"
	}
	if p.Modified {
		commit += " (modified)"
	}
	return fmt.Sprintf("toolsandbox %s, commit %s, %s", p.Version, commit, p.Go)
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version and the commit of this program",
		Example: "  toolsandbox version\n  toolsandbox version --json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), program())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), programText())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
