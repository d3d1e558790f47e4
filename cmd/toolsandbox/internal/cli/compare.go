package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/interchange"
	"github.com/toolsandbox/toolsandbox/runs/report"
)

const (
	// mostRuns is the largest number of directories in one table, and of runs that are compared.
	mostRuns = 8
	// mostReported is the largest number of runs in a report, which may be those of an experiment.
	mostReported = 100
)

func newCompare() *cobra.Command {
	format, asJSON, acceptEdits := "", false, false
	cmd := &cobra.Command{
		Use:   "compare RUN RUN...",
		Short: "Compare the scores of runs with those of the first one, scenario by scenario",
		Long: `compare pairs the scenarios of the first run with those of each other. It prints both means per category, their change, its
95 % interval and p-value, and the scenarios that changed with the milestones that did. A scenario's score is the mean over its
scored trials. RUN is the --out directory of a run or an experiment, or the output directory of the original; there are at most
eight runs.`,
		Example: `  toolsandbox run --agent unhelpful --out idle
  toolsandbox run --agent random --trials 3 --out floor
  toolsandbox compare idle floor`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON && cmd.Flags().Changed("format") {
				return process.UsageErrorf("--format: given with --json, expected one of them")
			}
			runs, err := loadRuns(cmd, args, mostRuns, acceptEdits)
			if err != nil {
				return err
			}
			if len(runs) < 2 {
				return process.UsageErrorf("RUN: %d runs given, expected the directories of two or more, or of an experiment", len(runs))
			}
			compared, err := analysis.Compare(cmd.Context(), runs)
			if compared == nil || len(compared.Others) == 0 {
				return err
			}
			if err := compared.WarnOfDifferences(cmd.ErrOrStderr()); err != nil {
				return err
			}
			if asJSON {
				return errors.Join(report.JSON(cmd.OutOrStdout(), compared), err)
			}
			return errors.Join(compared.Write(cmd.OutOrStdout(), format), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of tables")
	cmd.Flags().StringVar(&format, "format", "text", "the `format` of the tables: text, markdown or latex")
	addAcceptEdits(cmd.Flags(), &acceptEdits)
	return cmd
}

// loadRuns reads the runs in directories, and those of experiments in them.
func loadRuns(cmd *cobra.Command, args []string, most int, acceptEdits bool) ([]*analysis.Run, error) {
	if len(args) > mostRuns {
		return nil, process.UsageErrorf("RUN: %d arguments given, expected at most %d", len(args), mostRuns)
	}
	var dirs []string
	for _, arg := range args {
		if arg == "" {
			return nil, process.UsageErrorf("RUN: empty, expected the directory of a run")
		}
		found, err := report.RunsOf(arg, cmd.ErrOrStderr())
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, found...)
	}
	if len(dirs) > most {
		return nil, process.UsageErrorf("RUN: %d runs given, expected at most %d", len(dirs), most)
	}
	var runs []*analysis.Run
	for _, dir := range dirs {
		run, err := interchange.Load(cmd.Context(), dir, acceptEdits, cmd.ErrOrStderr())
		if errors.Is(err, interchange.ErrFormat) {
			return nil, process.UsageErrorf("RUN: %w", err)
		}
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}
