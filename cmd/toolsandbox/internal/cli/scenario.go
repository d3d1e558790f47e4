package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/describe"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/scenario"
)

func newScenario() *cobra.Command {
	cmd := &cobra.Command{Use: "scenario", Short: "List, show, write and check scenarios"}
	asGroup(cmd)
	cmd.AddCommand(newScenarioList(), newScenarioShow(), newScenarioGraph(), newScenarioValidate(), newScenarioNew(), newScenarioFmt(),
		newScenarioSchema(), newScenarioImport(), newScenarioExport(), newScenarioProve())
	return cmd
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
			lines := describe.List(loaded)
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), lines)
			}
			return printf(cmd.OutOrStdout(), "%s", describe.ListText(lines, output.Width(cmd.OutOrStdout())))
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
