package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/flagrule"
	"github.com/toolsandbox/toolsandbox/internal/process"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/view"
)

func newView() *cobra.Command {
	scorer, options, forks := newScorer(), &view.Command{}, false
	cmd := &cobra.Command{
		Use:   "view RUN...",
		Short: "Show runs in a browser, from a mean to the cell that made it",
		Long: `view serves pages of runs on this machine and prints their address: the report, a table of the rollouts, each transcript
beside the milestones that score it with what every message changed in the world, and the comparison of several runs. It reads only
and ends with Ctrl-C; with --allow-fork pages continue rollouts. RUN is the --out directory of a run, finished or in progress, the output directory of the original, or a file
of another tool (see docs/results.md); with --remote also a sweep, without RUN the only one. There are at most eight. The milestones
are those of the current catalogue. With --access-file it serves the sweeps of an installation to its teams instead (see docs/view.md).`,
		Example: `  toolsandbox run --agent random --trials 3 --out floor
  toolsandbox view floor
  toolsandbox view floor --export pages`,
		RunE: func(cmd *cobra.Command, args []string) error {
			options.Installation, options.AcceptEdits = scorer.installation, scorer.acceptEdits
			options.Stdout, options.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			options.Scenarios = view.Memoize(func(ctx context.Context) (map[string]*scenariov1.Scenario, error) {
				return scorer.catalogue.ExpandedByName(ctx, cmd.ErrOrStderr())
			})
			if options.Export != "" && cmd.Flags().Changed("listen") {
				return process.UsageErrorf("--listen: given with --export, which serves no pages")
			}
			if forks {
				options.Fork = func(ctx context.Context, args []string) error {
					root := newRoot()
					root.SetArgs(args)
					root.SetOut(io.Discard)
					return root.ExecuteContext(ctx)
				}
			}
			return options.Run(cmd.Context(), args)
		},
	}
	scorer.network.StringSliceVar(&options.Hosts, "view-host", nil, "with --access-file: public `names` of the pages, as in a browser's address; beyond this machine one is needed (default: none)")
	scorer.register(cmd.Flags())
	cmd.Flags().StringVar(&options.Listen, "listen", "127.0.0.1:0", "loopback `address` of the pages; port 0 is any free one. With --access-file any address")
	cmd.Flags().StringVar(&scorer.installation.Network.AccessFile, "access-file", "", "with --remote: serve the sweeps of an installation to the teams of this YAML `file`, each its own, by bearer tokens (default: no teams)")
	flagrule.Needs(cmd.Flags(), "remote", "access-file")
	flagrule.Needs(cmd.Flags(), "access-file", "view-host")
	cmd.Flags().StringVar(&options.Export, "export", "", "write the pages as files to a new `directory` instead of serving them (default: none)")
	cmd.Flags().BoolVar(&options.Proofs, "proofs", false, "with --export: play the proofs of the scenarios and write them too")
	flagrule.Needs(cmd.Flags(), "export", "proofs")
	cmd.Flags().BoolVar(&forks, "allow-fork", false, "pages have forms that continue rollouts in new runs beside theirs")
	cmd.Flags().StringVar(&options.TraceUI, "trace-ui", "", "`address` of Jaeger's user interface, to which rollouts link (default: no links)")
	return cmd
}
