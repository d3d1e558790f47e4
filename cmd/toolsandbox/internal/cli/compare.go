package cli

import (
	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/report"
)

// mostRuns is the largest number of runs in one table.
const mostRuns = 8

func newCompare() *cobra.Command {
	format, asJSON, acceptEdits := "", false, false
	cmd := &cobra.Command{
		Use:   "compare RUN RUN...",
		Short: "Compare the scores of runs with those of the first one, scenario by scenario",
		Long: `compare pairs the scenarios of the first run with those of each other. It prints both means per category, their change, its
95 % interval and p-value, and the scenarios that changed with the milestones that did. A scenario's score is the mean over its
scored trials. RUN is the --out directory of a run, or the output directory of the original; there are at most eight.`,
		Example: `  toolsandbox run --agent unhelpful --out idle
  toolsandbox run --agent random --trials 3 --out floor
  toolsandbox compare idle floor`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return process.UsageErrorf("RUN: %d arguments given, expected the directories of two runs or more", len(args))
			}
			runs, err := loadRuns(cmd, args, acceptEdits)
			if err != nil {
				return err
			}
			compared, err := analysis.Compare(runs)
			if err != nil {
				return err
			}
			if err := compared.WarnOfDifferences(cmd.ErrOrStderr()); err != nil {
				return err
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), compared)
			}
			return compared.Write(cmd.OutOrStdout(), format)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of tables")
	cmd.Flags().StringVar(&format, "format", "text", "the `format` of the tables: text, markdown or latex")
	addAcceptEdits(cmd.Flags(), &acceptEdits)
	return cmd
}

// loadRuns reads the runs in directories.
func loadRuns(cmd *cobra.Command, dirs []string, acceptEdits bool) ([]*analysis.Run, error) {
	if len(dirs) > mostRuns {
		return nil, process.UsageErrorf("RUN: %d arguments given, expected at most %d", len(dirs), mostRuns)
	}
	var runs []*analysis.Run
	for _, dir := range dirs {
		run, err := analysis.Load(dir, acceptEdits, cmd.ErrOrStderr())
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}
