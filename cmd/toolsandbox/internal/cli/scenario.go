package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/describe"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// scenarioLine is one scenario in the output for programs.
type scenarioLine struct {
	Name       string   `json:"name"`
	Categories []string `json:"categories"`
	Tools      []string `json:"tools"`
	Milestones int      `json:"milestones"`
	Minefields int      `json:"minefields"`
}

func newScenario() *cobra.Command {
	cmd := &cobra.Command{Use: "scenario", Short: "List, show, write and check scenarios"}
	asGroup(cmd)
	cmd.AddCommand(newScenarioList(), newScenarioShow(), newScenarioGraph(), newScenarioValidate(), newScenarioNew(), newScenarioFmt(),
		newScenarioSchema(), newScenarioImport(), newScenarioExport(), newScenarioProve())
	return cmd
}

// toolNames returns the real names of a scenario's listed tools, or of a record's functions.
func toolNames(setup *setupv1.Setup) []string {
	names := setup.GetTools().GetAllow()
	for _, function := range setup.GetFunctionCalling().GetFunctions() {
		names = append(names, function.GetExecutionName())
	}
	return names
}

func newScenarioList() *cobra.Command {
	var from catalogue.Selection
	var asJSON, counts bool
	cmd := &cobra.Command{
		Use:   "list [NAME...]",
		Short: "List scenarios",
		Long: `list prints a line for each scenario. With --counts it prints the number of scenarios per category over all variants, counted as
in the summary of a run, and the number of base scenarios per tool.`,
		Example: "  toolsandbox scenario list\n  toolsandbox scenario list --variants all which_mateo\n  toolsandbox scenario list --counts --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if counts {
				return listCounts(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), &from, args, asJSON)
			}
			loaded, err := from.Load(cmd.Context(), cmd.ErrOrStderr(), args)
			if err != nil {
				return err
			}
			var lines []scenarioLine
			for _, s := range loaded {
				lines = append(lines, scenarioLine{
					Name:       s.GetSetup().GetName(),
					Categories: s.GetSetup().GetCategories(),
					Tools:      toolNames(s.GetSetup()),
					Milestones: len(s.GetEvaluation().GetMilestones().GetNodes()),
					Minefields: len(s.GetEvaluation().GetMinefields().GetNodes()),
				})
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), lines)
			}
			t := output.NewList()
			for _, line := range lines {
				t.Append(table.Row{
					line.Name, fmt.Sprintf("%d tools", len(line.Tools)), fmt.Sprintf("%d milestones", line.Milestones),
					fmt.Sprintf("%d minefields", line.Minefields), strings.Join(line.Categories, " "),
				})
			}
			return printf(cmd.OutOrStdout(), "%s", output.Trimmed(t.Fit(output.Width(cmd.OutOrStdout()))))
		},
	}
	from.RegisterFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&counts, "counts", false, "count scenarios by category and by tool")
	return cmd
}

// listCounts counts the selected scenarios over all variants.
func listCounts(ctx context.Context, w, warnings io.Writer, from *catalogue.Selection, args []string, asJSON bool) error {
	from.Variants = []string{catalogue.AllVariants, strings.TrimPrefix(scenario.ConfirmationSuffix, "_")}
	scenarios, err := from.LoadExpanded(ctx, warnings, args)
	if err != nil {
		return err
	}
	counts := describe.CountScenarios(scenarios)
	if asJSON {
		return report.JSON(w, counts)
	}
	return counts.Write(w)
}
