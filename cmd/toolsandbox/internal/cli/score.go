package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	"github.com/toolsandbox/toolsandbox/runs/explain"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/rescore"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
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
	if run := o.scorer.reader.Run(); o.write && run != nil && run.Has(results.FormatParquet) {
		return process.UsageErrorf("--write: the tables of the run in %s keep the scores of the run; without --write the new ones are printed", dir)
	}
	selected, err := rescore.Select(dir, patterns, summary, scenarios, o.scorer.reader.Run().Main())
	if err != nil {
		return err
	}
	again := rescore.New(dir, o.scorer.reader, summary, scenarios)
	again.TextIsNoCall = explain.TextIsNoCall(o.scorer.reader.Run())
	if err := o.scorer.use(ctx, stderr, func(ctx context.Context, client evaluatorv1.EvaluatorServiceClient) error {
		return again.Score(ctx, client, selected)
	}); err != nil {
		return err
	}
	outcome, changed := again.Outcome, again.Changed()
	if err := outcome.CheckScored(dir, o.scorer.catalogue.SourceNames()); err != nil {
		return err
	}
	if o.write && o.scorer.acceptEdits {
		return process.UsageErrorf("--write: scores of changed files are not written; leave --accept-edits out")
	}
	if o.write {
		if err := again.Write(); err != nil {
			return err
		}
	}
	again.Count(selected)
	if o.asJSON {
		return report.JSON(stdout, outcome)
	}
	if err := report.WriteRescore(stdout, outcome); err != nil {
		return err
	}
	switch {
	case outcome.Written && !changed:
		_, err = fmt.Fprintf(stderr, "user flags: %s\n", storage.Join(dir, results.RunFile))
	case outcome.Written:
		_, err = fmt.Fprintf(stderr, "results: %s, the old ones in %s\n", storage.Join(dir, results.SummaryFile), results.PreviousSummaryFile)
	case o.write:
		_, err = fmt.Fprintln(stderr, "nothing to write: no score moved")
	case changed:
		_, err = fmt.Fprintf(stderr, "nothing written: add --write to replace %s\n", storage.Join(dir, results.SummaryFile))
	case len(outcome.Flagged) > 0:
		_, err = fmt.Fprintf(stderr, "nothing written: add --write to replace %s\n", storage.Join(dir, results.RunFile))
	}
	return err
}
