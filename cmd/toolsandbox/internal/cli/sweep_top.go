package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

func newSweepTop(inst *installation) *cobra.Command {
	var asJSON bool
	interval := 2 * time.Second
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show what all sweeps do, refreshed",
		Long: `top shows the sweeps that are not over: results per second, rollouts that run, wait or are parked by a spend limit, requests that wait
for each provider, and what was spent. It refreshes until it is interrupted. --json prints once, after one interval.`,
		Example: "  toolsandbox sweep top --remote\n  toolsandbox sweep top --out out --json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < minTopInterval {
				return process.UsageErrorf("--interval: %s given, expected %s or more", interval, minTopInterval)
			}
			return inst.use(cmd.Context(), cmd.ErrOrStderr(), func(ctx context.Context, services *rpc.Node) error {
				top := sweep.NewTop(orchestratorOf(services))
				if asJSON {
					sweeps, err := top.Once(ctx, interval)
					if err != nil {
						return err
					}
					return report.JSON(cmd.OutOrStdout(), sweeps)
				}
				return top.Follow(ctx, interval, func(sweeps []report.SweepDetail) error {
					table := report.Top(cmd.OutOrStdout(), sweeps)
					if terminal := output.OnTerminal(cmd.OutOrStdout()); terminal != nil {
						return terminal.Screen(table)
					}
					return printf(cmd.OutOrStdout(), "%s", table)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON once")
	cmd.Flags().DurationVar(&interval, "interval", interval, "time between two looks")
	return cmd
}

// minTopInterval bounds the load of the services.
const minTopInterval = 200 * time.Millisecond
