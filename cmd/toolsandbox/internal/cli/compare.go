package cli

import (
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/report"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/runfiles"
)

func newCompare() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "compare RUN RUN",
		Short: "Compare the scores of two runs, scenario by scenario",
		Long: `compare pairs the scenarios of two runs. It prints both means per category, their change from the first run to the second,
the 95 % interval of the mean change, and the scenarios that changed. A scenario's score is the mean over its scored trials. RUN is
the --out directory of a run, or the output directory of the original.`,
		Example: `  toolsandbox run --agent unhelpful --out idle
  toolsandbox run --agent random --trials 3 --out floor
  toolsandbox compare idle floor`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return process.Usage("RUN: %d arguments given, expected the directories of two runs", len(args))
			}
			return compareRuns(args[0], args[1], asJSON, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of tables")
	return cmd
}

func compareRuns(first, second string, asJSON bool, stdout, stderr io.Writer) error {
	var runs []report.ComparedRun
	var records []*runfiles.Run
	for _, dir := range []string{first, second} {
		summary, record, err := readScores(dir, stderr)
		if err != nil {
			return err
		}
		run := report.NewComparedRun(dir, summary, func(rollout string) string {
			if record == nil || record.Trials < 2 {
				return rollout
			}
			scenario, _, _ := cutLast(rollout, "_trial_")
			return scenario
		})
		if record != nil {
			run.Agent, run.User = record.Agent.Name, record.User.Name
		}
		runs, records = append(runs, run), append(records, record)
	}
	compared := report.Compare(runs[0], runs[1])
	if compared.Better+compared.Equal+compared.Worse == 0 {
		return process.Usage("RUN: %s and %s have no scenario with a score in common", first, second)
	}
	if err := warnOfDifferences(stderr, runs, records); err != nil {
		return err
	}
	if asJSON {
		return report.JSON(stdout, compared)
	}
	return report.WriteComparison(stdout, compared)
}

// warnOfDifferences prints what differs between two runs besides the agent.
func warnOfDifferences(stderr io.Writer, runs []report.ComparedRun, records []*runfiles.Run) error {
	if records[0] == nil || records[1] == nil {
		return nil
	}
	if records[0].User.Name != records[1].User.Name {
		if err := report.Warn(stderr, "the users differ: %s and %s", records[0].User.Name, records[1].User.Name); err != nil {
			return err
		}
	}
	names := func(run report.ComparedRun) []string { return slices.Sorted(maps.Keys(run.Scenarios)) }
	if records[0].Catalogue.Digest != records[1].Catalogue.Digest && slices.Equal(names(runs[0]), names(runs[1])) {
		return report.Warn(stderr, "the scenarios differ: %s and %s played other versions of them", runs[0].Directory, runs[1].Directory)
	}
	return nil
}
