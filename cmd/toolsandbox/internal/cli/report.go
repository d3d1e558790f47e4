package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/figure"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

func newReport() *cobra.Command {
	format, plots, passAt, card, asJSON, acceptEdits := "", "", 0.0, false, false, false
	cmd := &cobra.Command{
		Use:   "report RUN...",
		Short: "Print the scores of runs by category and variant, with their precision",
		Long: `report prints, for each run, the mean score of each category and variant with its 95 % interval, the rates of passes in
several trials, the effort of a rollout and what may have cost the agent its score. Intervals respect that the variants and trials
of a scenario depend on each other (see docs/statistics.md). RUN is the --out directory of a run or an experiment, the output
directory of the original, or a file of another tool (see docs/results.md); there are at most eight.`,
		Example: `  toolsandbox run --agent random --trials 3 --out floor
  toolsandbox report floor
  toolsandbox report floor --format latex
  toolsandbox report floor --card
  toolsandbox report floor --plots figures`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return process.UsageErrorf("RUN: missing, expected a run's directory")
			case asJSON && cmd.Flags().Changed("format"):
				return process.UsageErrorf("--format: given with --json, expected one of them")
			case !(passAt > 0 && passAt <= 1):
				return process.UsageErrorf("--pass-at: %v given, expected more than 0 and at most 1", passAt)
			}
			runs, err := loadRuns(cmd, args, mostReported, acceptEdits)
			if err != nil {
				return err
			}
			if err := rejectTwice(runs); err != nil {
				return err
			}
			reported, err := analysis.NewReport(cmd.Context(), runs, passAt)
			if err == nil && card {
				err = reported.AddCards(cmd.Context())
			}
			if err != nil {
				return err
			}
			if err := figure.Draw(cmd.Context(), cmd.ErrOrStderr(), plots, reported); err != nil {
				return err
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), reported)
			}
			return reported.Write(cmd.OutOrStdout(), format)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of tables")
	cmd.Flags().BoolVar(&card, "card", false, "print the reliability card instead: consistency, robustness, predictability, safety, abstention")
	cmd.Flags().Float64Var(&passAt, "pass-at", 1, "the least `score` of a rollout that passes")
	cmd.Flags().StringVar(&format, "format", "text", "the `format` of the tables: text, markdown, latex or csv")
	cmd.Flags().StringVar(&plots, "plots", "", "`directory` for figures of the scores, as SVG and PNG (default: none)")
	addAcceptEdits(cmd.Flags(), &acceptEdits)
	return cmd
}

// rejectTwice rejects a run that is given twice, such as once with its experiment: its rollouts
// would count as further trials.
func rejectTwice(runs []*analysis.Run) error {
	known := make(map[string]string)
	for _, run := range runs {
		path, err := storage.Abs(run.Directory)
		if err != nil {
			return err
		}
		if resolved, err := filepath.EvalSymlinks(path); err == nil { // there are none in a bucket
			path = resolved
		}
		if first, ok := known[path]; ok {
			return process.UsageErrorf("RUN: %s and %s are the same run, expected each run once", first, run.Directory)
		}
		known[path] = run.Directory
	}
	return nil
}
