package cli

import (
	"fmt"
	"regexp"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/version"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// program returns this build. Its commit is empty in a build outside a repository or by go run.
func program() results.Program {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return results.Program{Version: version.Version}
	}
	return programOf(info)
}

// programOf returns the build that has information. The version of the source names it, however it
// was built: Go's own version of a main module depends on tags that not every copy has.
func programOf(info *debug.BuildInfo) results.Program {
	p := results.Program{Version: version.Version, Go: info.GoVersion}
	// go install PACKAGE@COMMIT knows no repository. It names the commit in a pseudo-version.
	if found := regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})$`).FindStringSubmatch(info.Main.Version); found != nil {
		p.Commit = found[1]
	}
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
