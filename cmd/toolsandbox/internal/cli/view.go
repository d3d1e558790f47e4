package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	"github.com/toolsandbox/toolsandbox/runs/view"
)

// viewOptions are the flags of view.
type viewOptions struct {
	scorer *scorer
	listen string
	export string
}

func newView() *cobra.Command {
	options := &viewOptions{scorer: newScorer()}
	cmd := &cobra.Command{
		Use:   "view RUN...",
		Short: "Show runs in a browser, from a mean to the cell that made it",
		Long: `view serves pages of runs on this machine and prints their address: the report, a table of the rollouts, each transcript
beside the milestones that score it with what every message changed in the world, and the comparison of several runs. It reads only,
and ends with Ctrl-C. RUN is the --out directory of a run, the output directory of the original, or a file of another tool (see docs/results.md); there
are at most eight. The milestones are those of the current catalogue.`,
		Example: `  toolsandbox run --agent random --trials 3 --out floor
  toolsandbox view floor
  toolsandbox view floor --export pages`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return process.UsageErrorf("RUN: missing, expected a run's directory")
			}
			return options.scorer.view(cmd, args, func(ctx context.Context, v *view.Viewer) error {
				if options.export != "" {
					return exportView(ctx, v, options.export, cmd.ErrOrStderr())
				}
				return serveView(ctx, v, options.listen, cmd.OutOrStdout())
			})
		},
	}
	options.scorer.register(cmd.Flags())
	cmd.Flags().StringVar(&options.listen, "listen", "127.0.0.1:0", "loopback `address` of the pages; port 0 is any free one")
	cmd.Flags().StringVar(&options.export, "export", "", "write the pages as files to a new `directory` instead of serving them (default: none)")
	return cmd
}

// exportView writes pages as files.
func exportView(ctx context.Context, v *view.Viewer, dir string, stderr io.Writer) error {
	count, size, err := v.Export(ctx, dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stderr, "pages: %s, %d files, %.1f MB\n", filepath.Join(dir, "index.html"), count, float64(size)/1e6)
	return err
}

// serveView serves pages until ctx is done.
func serveView(ctx context.Context, v *view.Viewer, address string, stdout io.Writer) error {
	listener, err := view.Listen(ctx, address)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "view: http://%s/\n", listener.Addr()); err != nil {
		_ = listener.Close()
		return err
	}
	return v.Serve(ctx, listener)
}

// view calls do with the pages of runs.
func (s *scorer) view(cmd *cobra.Command, dirs []string, do func(context.Context, *view.Viewer) error) error {
	if err := s.installation.Network.Validate(); err != nil {
		return process.UsageErrorf("%w", err)
	}
	runs, err := loadRuns(cmd, dirs, mostRuns, s.acceptEdits)
	if err != nil {
		return err
	}
	scenarios, err := s.catalogue.ExpandedByName(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	return s.use(cmd.Context(), cmd.ErrOrStderr(), func(ctx context.Context, client evaluatorv1.EvaluatorServiceClient) error {
		return do(ctx, view.New(runs, scenarios, client))
	})
}
