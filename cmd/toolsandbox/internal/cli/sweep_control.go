package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/process"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

func newSweepPause(inst *installation) *cobra.Command {
	return newSweepUpdate(inst, &cobra.Command{
		Use:   "pause ID",
		Short: "Hold a sweep before the next turns",
		Long: `pause holds a sweep. Turns in flight end and are recorded, and no other begins until resume. A paused sweep takes no slot of an
orchestrator, and stays paused when services restart. It does nothing to a sweep that has ended or is cancelled.`,
		Example: "  toolsandbox sweep pause nightly --remote\n  toolsandbox sweep pause --out out",
	}, func() (*orchestratorv1.UpdateSweepRequest, error) {
		return &orchestratorv1.UpdateSweepRequest{Paused: proto.Bool(true)}, nil
	}, func(w io.Writer, d report.SweepDetail) error {
		if d.State == report.SweepPaused {
			return printf(w, "sweep %s is paused with %d of %d rollouts done", d.ID, d.Done, d.Total)
		}
		return printf(w, "sweep %s is %s: nothing is left to pause", d.ID, d.State)
	})
}

func newSweepResume(inst *installation) *cobra.Command {
	return newSweepUpdate(inst, &cobra.Command{
		Use:   "resume ID",
		Short: "Continue a paused sweep",
		Long: `resume continues a paused sweep: its rollouts go on at the next message. It does nothing to other sweeps. A sweep that is
cancelled, or has rollouts without a score, continues with requeue or with run --resume.`,
		Example: "  toolsandbox sweep resume nightly --remote\n  toolsandbox sweep resume --out out",
	}, func() (*orchestratorv1.UpdateSweepRequest, error) {
		return &orchestratorv1.UpdateSweepRequest{Paused: proto.Bool(false)}, nil
	}, func(w io.Writer, d report.SweepDetail) error {
		return printf(w, "sweep %s is %s with %d of %d rollouts done", d.ID, d.State, d.Done, d.Total)
	})
}

func newSweepSet(inst *installation) *cobra.Command {
	var limits play.Limits
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Change the limits of a sweep while it runs",
		Long: `set changes limits of a sweep, also while it runs or is paused. Fewer concurrent rollouts end none that runs. Spend limits only rise:
rollouts that wait for a higher one continue. The limits hold until the sweep continues with other ones by run --resume.`,
		Example: "  toolsandbox sweep set nightly --remote --parallel 4\n  toolsandbox sweep set nightly --remote --spend-usd 20",
	}
	limits.RegisterFlags(cmd.Flags())
	return newSweepUpdate(inst, cmd, limits.Request, func(w io.Writer, d report.SweepDetail) error {
		return printf(w, "sweep %s is %s with %d of %d rollouts done: %s", d.ID, d.State, d.Done, d.Total, d.Limits())
	})
}

// newSweepUpdate completes a command that changes a sweep.
func newSweepUpdate(
	inst *installation, cmd *cobra.Command, change func() (*orchestratorv1.UpdateSweepRequest, error), show func(io.Writer, report.SweepDetail) error,
) *cobra.Command {
	var asJSON bool
	cmd.Args = inst.sweepID
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		request, err := change()
		if err != nil {
			return err
		}
		return inst.useSweep(cmd, args, func(ctx context.Context, client orchestratorv1.OrchestratorServiceClient, id string) error {
			request.SweepId = id
			info, err := sweep.Update(ctx, client, request)
			if err != nil {
				return err
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), report.NewSweep(info))
			}
			return show(cmd.OutOrStdout(), report.NewSweepDetail(info))
		})
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newSweepRequeue(inst *installation) *cobra.Command {
	var errored bool
	cmd := &cobra.Command{
		Use:   "requeue ID --errored",
		Short: "Play the rollouts again that ended without a score",
		Long: `requeue queues the rollouts that ended without a score, because of a service, a provider, a player or a cancellation. They continue
at the message at which they ended, and turns are not paid for again. Rollouts that run are unaffected. No client has to wait: the
command that started the sweep fetches the results with --resume. A run in progress keeps the failures that it has got until then.`,
		Example: "  toolsandbox sweep requeue nightly --remote --errored",
		Args:    inst.sweepID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !errored {
				return process.UsageErrorf("--errored: missing: it says which rollouts are queued")
			}
			return inst.useSweep(cmd, args, func(ctx context.Context, client orchestratorv1.OrchestratorServiceClient, id string) error {
				response, err := sweep.Requeue(ctx, client, id)
				if err != nil {
					return err
				}
				return printf(cmd.OutOrStdout(), "sweep %s: %d rollouts queued in round %d", id, response.GetRollouts(), response.GetSweep().GetRound())
			})
		},
	}
	cmd.Flags().BoolVar(&errored, "errored", false, "the rollouts that ended without a score")
	return cmd
}

func newSweepDelete(inst *installation) *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID",
		Short: "Remove a sweep that is over",
		Long: `delete removes a sweep from the services: its plan, logs, table versions, results, recordings and sessions. What runs wrote to --out
stays. A sweep has to be over: cancel it first. Its id stays reserved, and it still counts against the budgets of its team.
Scenarios that other sweeps may share stay until their retention ends. delete is idempotent.`,
		Example: "  toolsandbox sweep cancel nightly --remote\n  toolsandbox sweep delete nightly --remote",
		Args:    inst.sweepID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return inst.useSweep(cmd, args, func(ctx context.Context, client orchestratorv1.OrchestratorServiceClient, id string) error {
				if err := sweep.Delete(ctx, client, id); err != nil {
					return err
				}
				return printf(cmd.OutOrStdout(), "sweep %s is deleted", id)
			})
		},
	}
}

func newSweepShow(inst *installation) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show what a sweep does",
		Long:    `show prints the state of a sweep: what its rollouts do, what its models have spent, and its limits.`,
		Example: "  toolsandbox sweep show nightly --remote\n  toolsandbox sweep show --out out --json",
		Args:    inst.sweepID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return inst.useSweep(cmd, args, func(ctx context.Context, client orchestratorv1.OrchestratorServiceClient, id string) error {
				info, err := sweep.Get(ctx, client, id)
				if err != nil {
					return err
				}
				return printEither(cmd.OutOrStdout(), asJSON, report.NewSweepDetail(info))
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
