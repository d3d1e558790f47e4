package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/view"
)

// viewOptions are the flags of view.
type viewOptions struct {
	scorer  *scorer
	listen  string
	export  string
	traceUI string
	fork    bool
}

func newView() *cobra.Command {
	options := &viewOptions{scorer: newScorer()}
	cmd := &cobra.Command{
		Use:   "view RUN...",
		Short: "Show runs in a browser, from a mean to the cell that made it",
		Long: `view serves pages of runs on this machine and prints their address: the report, a table of the rollouts, each transcript
beside the milestones that score it with what every message changed in the world, and the comparison of several runs. It reads only
and ends with Ctrl-C; with --allow-fork pages continue rollouts. RUN is the --out directory of a run, finished or in progress, the output directory of the original, or a file
of another tool (see docs/results.md); with --remote also a sweep, without RUN the only one. There are at most eight. The milestones
are those of the current catalogue.`,
		Example: `  toolsandbox run --agent random --trials 3 --out floor
  toolsandbox view floor
  toolsandbox view floor --export pages`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(options.scorer.installation.Network.Validate(), telemetry.CheckTraceUI(options.traceUI)); err != nil {
				return process.UsageErrorf("%w", err)
			}
			return options.run(cmd, args)
		},
	}
	options.scorer.register(cmd.Flags())
	cmd.Flags().StringVar(&options.listen, "listen", "127.0.0.1:0", "loopback `address` of the pages; port 0 is any free one")
	cmd.Flags().StringVar(&options.export, "export", "", "write the pages as files to a new `directory` instead of serving them (default: none)")
	cmd.Flags().BoolVar(&options.fork, "allow-fork", false, "pages have forms that continue rollouts in new runs beside theirs")
	cmd.Flags().StringVar(&options.traceUI, "trace-ui", "", "`address` of Jaeger's user interface, to which rollouts link (default: no links)")
	return cmd
}

// run writes the pages as files, or serves them until the command is interrupted.
func (o *viewOptions) run(cmd *cobra.Command, args []string) error {
	scenarios := view.Memoize(func(ctx context.Context) (map[string]*scenariov1.Scenario, error) {
		return o.scorer.catalogue.ExpandedByName(ctx, cmd.ErrOrStderr())
	})
	evaluator := func(ctx context.Context, do func(context.Context, evaluatorv1.EvaluatorServiceClient) error) error {
		return o.scorer.use(ctx, cmd.ErrOrStderr(), do)
	}
	show := func(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient) error {
		sources, err := view.OpenAll(ctx, args, o.scorer.acceptEdits, cmd.ErrOrStderr(), scenarios, orchestrator)
		if err != nil {
			return err
		}
		site := view.NewSite(sources, scenarios, evaluator, o.traceUI)
		if o.fork {
			site.AllowForks(func(ctx context.Context, args []string) error {
				root := newRoot()
				root.SetArgs(args)
				root.SetOut(io.Discard)
				return root.ExecuteContext(ctx)
			})
		}
		if o.export != "" {
			return site.Export(ctx, o.export, cmd.ErrOrStderr())
		}
		return site.Run(ctx, o.listen, cmd.OutOrStdout())
	}
	if !o.scorer.installation.Network.Remote {
		return show(cmd.Context(), nil)
	}
	return standalone.WithTemporary(cmd.Context(), o.scorer.installation, "warn", cmd.ErrOrStderr(), func(ctx context.Context, node *rpc.Node) error {
		return show(ctx, orchestratorOf(node))
	})
}
