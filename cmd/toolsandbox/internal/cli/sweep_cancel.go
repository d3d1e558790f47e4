package cli

import (
	"context"

	"github.com/spf13/cobra"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

func newSweepCancel(inst *installation) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Stop a sweep",
		Long: `cancel stops a sweep. Rollouts without a result end without one. No new request to a model starts; running ones finish, and
their answers count if the sweep continues. The command that started the sweep continues it with --resume. cancel is
idempotent, and does nothing to a sweep that has ended.`,
		Example: "  toolsandbox sweep cancel nightly --remote",
		Args:    inst.sweepID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return inst.useSweep(cmd, args, func(ctx context.Context, client orchestratorv1.OrchestratorServiceClient, id string) error {
				info, err := sweep.Cancel(ctx, client, id)
				if err != nil {
					return err
				}
				if asJSON {
					return report.JSON(cmd.OutOrStdout(), report.NewSweep(info))
				}
				done, total := info.GetProgress().GetDone(), info.GetProgress().GetTotal()
				if !info.GetCancelled() {
					return printf(cmd.OutOrStdout(), "sweep %s has ended: all %d rollouts have a result, nothing is left to cancel", id, total)
				}
				return printf(cmd.OutOrStdout(), "sweep %s is cancelled: %d of %d rollouts have a result; the command that started it plays the others with --resume",
					id, done, total)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
