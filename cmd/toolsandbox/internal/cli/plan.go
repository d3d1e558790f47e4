package cli

import (
	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/report"
)

func newPlan() *cobra.Command {
	detect, power, asJSON := 0.0, 0.0, false
	cmd := &cobra.Command{
		Use:   "plan [RUN...]",
		Short: "Say how many scenarios and trials show a change between two agents",
		Long: `plan prints with how many base scenarios and trials a comparison of two agents shows a change of the mean score. How much scores
vary it takes from two runs that it would compare, else from one, else from what is usual. Costs are those of the runs.`,
		Example: `  toolsandbox plan --detect 0.03
  toolsandbox run --agent random --trials 3 --out floor
  toolsandbox plan --detect 0.03 floor`,
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, err := loadRuns(cmd, args, mostRuns, false)
			if err != nil {
				return err
			}
			plan, err := analysis.NewPlan(detect, power, runs)
			if err != nil {
				return err
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), plan)
			}
			return plan.Write(cmd.OutOrStdout())
		},
	}
	cmd.Flags().Float64Var(&detect, "detect", 0.05, "the `change` of the mean score to show")
	cmd.Flags().Float64Var(&power, "power", 0.8, "the `probability` with which it shows")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of a table")
	return cmd
}
