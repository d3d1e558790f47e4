package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/explain"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/rescore"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/view"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	scorer *scorer
	node   string
	asJSON bool
	html   string
}

func newExplain() *cobra.Command {
	options := &explainOptions{scorer: newScorer()}
	cmd := &cobra.Command{
		Use:   "explain RUN [SCENARIO]",
		Short: "Explain the score of a rollout",
		Long: `explain shows where each milestone matched, how each of its constraints compares with the trajectory there, and the best
match of each missed milestone. RUN is the --out directory of a run, SCENARIO one of its rollouts. RUN may also be the path of a
rollout, such as out/trajectories/turn_off_wifi. The milestones are those of the current catalogue.`,
		Example: `  toolsandbox run --agent oracle --out out
  toolsandbox explain out turn_off_wifi
  toolsandbox explain out turn_off_wifi --node 1 --json
  toolsandbox explain out turn_off_wifi --html turn_off_wifi.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return process.UsageErrorf("RUN and SCENARIO: %d arguments given, expected a run's directory and a scenario", len(args))
			}
			dir, name := results.Locate(args[0])
			if len(args) == 2 {
				name = args[1]
				if _, rollout := results.Locate(name); rollout != "" {
					name = rollout
				}
			}
			return options.run(cmd.Context(), dir, name, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	options.scorer.register(cmd.Flags())
	cmd.Flags().StringVar(&options.node, "node", "", "explain only the milestone or minefield with this name or number")
	cmd.Flags().BoolVar(&options.asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&options.html, "html", "", "write the explanation beside the transcript to one `file` that a browser opens (default: none)")
	return cmd
}

func (o *explainOptions) run(ctx context.Context, dir, name string, stdout, stderr io.Writer) error {
	summary, scenarios, err := o.scorer.load(ctx, stderr, dir)
	if err != nil {
		return err
	}
	entry, err := rescore.Find(dir, name, summary, scenarios, o.scorer.reader.Run().Main())
	if err != nil {
		return err
	}
	scenario := scenarios[rescore.ScenarioName(entry.Name, scenarios)]
	if scenario == nil {
		return process.UsageErrorf("SCENARIO: %s has no scenario %q: give the run's --pack", o.scorer.catalogue.SourceNames(), rescore.ScenarioName(entry.Name, scenarios))
	}
	if o.html != "" {
		if o.asJSON || o.node != "" {
			return process.UsageErrorf("--html: given with --json or --node, expected alone: the page has every node")
		}
		return o.writeHTML(ctx, analysis.OpenRun(dir, summary, o.scorer.reader), scenarios, entry.Name, stderr)
	}
	explained, err := explain.Read(o.scorer.reader, entry, o.scorer.reader.Run().Causes()[entry.Name], scenario)
	if err != nil {
		return report.WithAdvice(dir, err)
	}
	if err := o.scorer.use(ctx, stderr, explained.Explain); err != nil {
		return err
	}
	if o.node != "" && !explained.Filter(o.node) {
		return process.UsageErrorf("--node: %s has no milestone or minefield %q: expected a number or one of %s", entry.Name, o.node,
			strings.Join(explained.Names(), ", "))
	}
	if o.asJSON {
		return report.JSON(stdout, explained)
	}
	return explained.WriteText(stdout)
}

// writeHTML writes the page of a rollout as one file.
func (o *explainOptions) writeHTML(ctx context.Context, run *analysis.Run, scenarios map[string]*scenariov1.Scenario, name string, stderr io.Writer) error {
	var content []byte
	if err := o.scorer.use(ctx, stderr, func(ctx context.Context, client evaluatorv1.EvaluatorServiceClient) (err error) {
		content, err = view.New([]*analysis.Run{run}, scenarios, client).File(ctx, name)
		return err
	}); err != nil {
		return err
	}
	if err := results.WriteFile(o.html, content); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stderr, "page: %s\n", o.html)
	return err
}
