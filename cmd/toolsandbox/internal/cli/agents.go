package cli

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// agentLine is one player in the output for programs.
type agentLine struct {
	Name        string   `json:"name"`
	Roles       []string `json:"roles"`
	Description string   `json:"description"`
}

func newAgents() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "agents",
		Short:   "List the players for --agent and --user",
		Example: "  toolsandbox agents\n  toolsandbox agents --json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var lines []agentLine
			for _, info := range player.List() {
				line := agentLine{Name: info.Name, Description: info.Description}
				for _, role := range info.Roles {
					line.Roles = append(line.Roles, strings.ToLower(world.RoleName(role)))
				}
				lines = append(lines, line)
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), lines)
			}
			t := output.NewList()
			for _, line := range lines {
				t.Append(table.Row{line.Name, strings.Join(line.Roles, ", "), line.Description})
			}
			return printf(cmd.OutOrStdout(), "%s", output.Trimmed(t.Fit(output.Width(cmd.OutOrStdout()))))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
