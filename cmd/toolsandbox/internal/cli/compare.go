package cli

import (
	"io"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/scenario"
)

func newCompare() *cobra.Command {
	asJSON, acceptEdits := false, false
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
				return process.UsageErrorf("RUN: %d arguments given, expected the directories of two runs", len(args))
			}
			first, _ := results.Locate(args[0])
			second, _ := results.Locate(args[1])
			return compareRuns(first, second, acceptEdits, asJSON, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of tables")
	addAcceptEdits(cmd.Flags(), &acceptEdits)
	return cmd
}

func compareRuns(first, second string, acceptEdits, asJSON bool, stdout, stderr io.Writer) error {
	var runs []report.ComparedRun
	var records []*results.Run
	for _, dir := range []string{first, second} {
		summary, reader, err := report.OpenFinished(dir, acceptEdits, stderr)
		if err != nil {
			return err
		}
		record := reader.Run()
		run := report.NewComparedRun(dir, summary, scenarioOf(summary, record))
		if record != nil {
			run.Agent, run.User = record.Agent.Name, record.User.Name
		}
		runs, records = append(runs, run), append(records, record)
	}
	compared := report.Compare(runs[0], runs[1], scenario.BaseName)
	if compared.Better+compared.Equal+compared.Worse == 0 {
		return process.UsageErrorf("RUN: %s and %s have no scenario with a score in common", first, second)
	}
	if err := warnOfDifferences(stderr, runs, records); err != nil {
		return err
	}
	if asJSON {
		return report.JSON(stdout, compared)
	}
	return report.WriteComparison(stdout, compared)
}

// scenarioOf returns a function from the name of a rollout to that of its scenario. A run of
// several trials appends the trial. Without a record the names of all rollouts tell whether it did.
func scenarioOf(summary *resultfile.Summary, record *results.Run) func(string) string {
	trials := record != nil && record.Trials > 1
	if record == nil {
		trials = !slices.ContainsFunc(summary.Scenarios, func(r resultfile.ScenarioResult) bool { return !trial.MatchString(r.Name) })
	}
	return func(rollout string) string {
		if !trials {
			return rollout
		}
		return trial.ReplaceAllString(rollout, "")
	}
}

// trial is the end of the name of a rollout in a run of several trials.
var trial = regexp.MustCompile(`_trial_[0-9]+$`)

// warnOfDifferences prints what differs between two runs besides the agent.
func warnOfDifferences(stderr io.Writer, runs []report.ComparedRun, records []*results.Run) error {
	if records[0] == nil || records[1] == nil {
		return nil
	}
	if records[0].User.Name != records[1].User.Name {
		if err := report.Warn(stderr, "the users differ: %s and %s", records[0].User.Name, records[1].User.Name); err != nil {
			return err
		}
	}
	if !samePacks(records[0], records[1]) {
		return report.Warn(stderr, "the packs differ: %s and %s may have played other versions of the scenarios", runs[0].Directory, runs[1].Directory)
	}
	return nil
}

// samePacks reports whether two runs played scenarios of the same files. A replay does not know
// them, but what it played.
func samePacks(a, b *results.Run) bool {
	if a.Packs == nil || b.Packs == nil {
		return a.Catalogue.Digest == b.Catalogue.Digest
	}
	return slices.EqualFunc(a.Packs, b.Packs, func(a, b results.Pack) bool { return a.Digest == b.Digest })
}
