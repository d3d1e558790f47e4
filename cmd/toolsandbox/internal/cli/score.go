package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// scoreOptions are the flags of score.
type scoreOptions struct {
	scorer *scorer
	write  bool
	asJSON bool
}

func newScore() *cobra.Command {
	options := &scoreOptions{scorer: newScorer()}
	cmd := &cobra.Command{
		Use:   "score RUN [NAME...]",
		Short: "Score finished trajectories again with the current milestones",
		Long: `score applies the current milestones and minefields to the trajectories of a run, without running agents again, and prints
the scores that moved. It also checks again whether the users kept to their role. RUN is the --out directory of the run, NAMEs
are rollouts or scenarios, with * and ? (default: all). Rollouts that ended in a failure keep their score; those of
which a measure of the pack's own failed get one.`,
		Example: `  toolsandbox run --agent oracle --out out
  toolsandbox score out
  toolsandbox score out 'turn_*' --json
  toolsandbox score out --write`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return process.UsageErrorf("RUN: missing, expected a run's directory")
			}
			dir, rollout := results.Locate(args[0])
			patterns := args[1:]
			if rollout != "" && len(patterns) == 0 {
				patterns = []string{rollout}
			}
			return options.run(cmd.Context(), dir, patterns, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	options.scorer.register(cmd.Flags())
	cmd.Flags().BoolVar(&options.write, "write", false, "write the new scores to "+results.SummaryFile+", the old ones to "+results.PreviousSummaryFile+", and the causes and users' flags to "+results.RunFile)
	cmd.Flags().BoolVar(&options.asJSON, "json", false, "print JSON instead of a table")
	return cmd
}

func (o *scoreOptions) run(ctx context.Context, dir string, patterns []string, stdout, stderr io.Writer) error {
	summary, scenarios, err := o.scorer.load(ctx, stderr, dir)
	if err != nil {
		return err
	}
	selected, err := selectRollouts(dir, patterns, summary, scenarios)
	if err != nil {
		return err
	}
	rescore := &rescore{dir: dir, scenarios: scenarios, reader: o.scorer.reader, entries: slices.Clone(summary.Scenarios), causes: o.scorer.reader.Run().Causes(), outcome: report.NewRescore(), textIsNoCall: o.scorer.textIsNoCall()}
	if err := o.scorer.use(ctx, stderr, func(ctx context.Context, client evaluatorv1.EvaluatorServiceClient) error {
		return rescore.each(ctx, client, selected)
	}); err != nil {
		return err
	}
	scored := summary.With(rescore.entries)
	changed := !reflect.DeepEqual(summary.Scenarios, scored.Scenarios)
	flagged := len(rescore.outcome.Flagged) > 0
	if o.write && o.scorer.acceptEdits {
		return process.UsageErrorf("--write: scores of changed files are not written; leave --accept-edits out")
	}
	if o.write {
		if _, err := os.Stat(filepath.Join(dir, results.EuroEvalFile)); err == nil && changed {
			return process.UsageErrorf("--write: EuroEval's figures in %s would no longer match the scores: toolsandbox run --replay %s --out DIR grades the answers again",
				filepath.Join(dir, results.EuroEvalFile), report.ShellWord(dir))
		}
		if err := rescore.write(scored, changed); err != nil {
			return err
		}
	}
	rescore.outcome.CauseCounts = rescore.countCauses(selected)
	rescore.outcome.NotPlayed = o.scorer.reader.Run().NotPlayed()
	rescore.outcome.Before, rescore.outcome.After = summary.Mean(), scored.Mean()
	if o.scorer.reader.Run().UserChecked() {
		rescore.outcome.UserFlagCounts = o.scorer.reader.Run().Totals.UserFlagCounts
	}
	if o.asJSON {
		return report.JSON(stdout, rescore.outcome)
	}
	if err := report.WriteRescore(stdout, rescore.outcome); err != nil {
		return err
	}
	switch {
	case rescore.outcome.Written && !changed:
		_, err = fmt.Fprintf(stderr, "user flags: %s\n", filepath.Join(dir, results.RunFile))
	case rescore.outcome.Written:
		_, err = fmt.Fprintf(stderr, "results: %s, the old ones in %s\n", filepath.Join(dir, results.SummaryFile), results.PreviousSummaryFile)
	case o.write:
		_, err = fmt.Fprintln(stderr, "nothing to write: no score moved")
	case changed:
		_, err = fmt.Fprintf(stderr, "nothing written: add --write to replace %s\n", filepath.Join(dir, results.SummaryFile))
	case flagged:
		_, err = fmt.Fprintf(stderr, "nothing written: add --write to replace %s\n", filepath.Join(dir, results.RunFile))
	}
	return err
}

// selectRollouts returns the indices of the rollouts that match any pattern; every pattern must
// match something.
func selectRollouts(dir string, patterns []string, summary *resultfile.Summary, scenarios map[string]*scenariov1.Scenario) ([]int, error) {
	selected := make(map[int]bool)
	for _, pattern := range patterns {
		found := false
		for i, entry := range summary.Scenarios {
			for _, name := range []string{entry.Name, scenarioName(entry.Name, scenarios)} {
				matched, err := path.Match(pattern, name)
				if err != nil {
					return nil, process.UsageErrorf("NAME: pattern %q: %w", pattern, err)
				}
				if matched {
					selected[i], found = true, true
				}
			}
		}
		if !found {
			return nil, process.UsageErrorf("NAME: the run in %s did not play %q: see the names in %s", dir, pattern, results.SummaryFile)
		}
	}
	var indices []int
	for i := range summary.Scenarios {
		if len(patterns) == 0 || selected[i] {
			indices = append(indices, i)
		}
	}
	return indices, nil
}

// rescore scores the trajectories of a run again.
type rescore struct {
	dir       string
	scenarios map[string]*scenariov1.Scenario
	reader    *results.Reader // its Run gets the flags of checked users
	// entries are those of the summary; scoring replaces them.
	entries []resultfile.ScenarioResult
	// causes are those that the run recorded, by rollout; scoring updates them.
	causes  map[string][]results.Cause
	outcome *report.Rescore

	textIsNoCall bool
}

// all returns the indices of all rollouts.
func (r *rescore) all() []int {
	indices := make([]int, len(r.entries))
	for i := range indices {
		indices[i] = i
	}
	return indices
}

// each scores the selected rollouts.
func (r *rescore) each(ctx context.Context, client evaluatorv1.EvaluatorServiceClient, selected []int) error {
	for _, i := range selected {
		if err := r.one(ctx, client, &r.entries[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *rescore) one(ctx context.Context, client evaluatorv1.EvaluatorServiceClient, entry *resultfile.ScenarioResult) error {
	scenario := r.scenarios[scenarioName(entry.Name, r.scenarios)]
	switch {
	case entry.Failed() && !entry.MeasureFailed():
		r.outcome.Failed = append(r.outcome.Failed, entry.Name)
		return nil
	case scenario == nil:
		r.outcome.NoScenario = append(r.outcome.NoScenario, entry.Name)
		return nil
	}
	trajectory, err := r.reader.Trajectory(entry.Name, world.SchemaOrBuiltin(scenario.GetEvaluation().GetSchema()))
	if errors.Is(err, fs.ErrNotExist) {
		r.outcome.NoTrajectory = append(r.outcome.NoTrajectory, entry.Name)
		return nil
	}
	if err != nil {
		return report.WithAdvice(r.dir, err)
	}
	response, err := client.ScoreTrajectory(ctx, &evaluatorv1.ScoreTrajectoryRequest{
		Evaluation: scenario.GetEvaluation(), Messages: trajectory.Messages, Tables: trajectory.Tables, TextIsNoCall: r.textIsNoCall,
		Starting: int32(len(scenario.GetSetup().GetMessages())), CheckUser: r.reader.Run().UserChecked(), Causes: results.CauseMessages(r.causes[entry.Name]),
		Categories: scenario.GetSetup().GetCategories(), TimeZone: scenario.GetSetup().GetClock().GetTimeZone(),
	})
	if err != nil {
		return wrapRejection("score", entry.Name, err)
	}
	before := *entry
	*entry = before.Rescored(scenario.GetEvaluation(), response.GetResult())
	r.causes[entry.Name] = results.Causes(response.GetResult().GetCauses())
	r.outcome.Add(&before, entry, scenario.GetEvaluation())
	if r.reader.Run().UserChecked() && r.reader.Run().SetUserFlags(entry.Name, response.GetResult().GetUserFlags()) {
		r.outcome.Flagged = append(r.outcome.Flagged, entry.Name)
	}
	return nil
}

// countCauses counts the causes of the selected rollouts.
func (r *rescore) countCauses(selected []int) *results.CauseCounts {
	var scores []results.CausedScore
	userUnscored := 0
	for _, i := range selected {
		if run := r.reader.Run(); run != nil && run.Rollouts[i].FailureClass == results.UserFailure {
			userUnscored++
		}
		if score, scored := r.entries[i].Similarity.Number(); scored {
			scores = append(scores, results.CausedScore{Score: score, Causes: r.causes[r.entries[i].Name]})
		}
	}
	return results.CountCauses(scores, len(selected), userUnscored)
}

// write writes the changed files of the run.
func (r *rescore) write(scored *resultfile.Summary, changed bool) error {
	if !changed && len(r.outcome.Flagged) == 0 {
		return nil
	}
	r.outcome.Written = true
	run := r.reader.Run()
	if run != nil {
		for i := range run.Rollouts {
			run.Rollouts[i].Causes = r.causes[run.Rollouts[i].Name]
		}
		if run.Totals != nil {
			run.Totals.CauseCounts = r.countCauses(r.all())
		}
	}
	if changed {
		return results.ReplaceSummary(r.dir, run, scored)
	}
	return results.WriteRun(r.dir, run)
}
