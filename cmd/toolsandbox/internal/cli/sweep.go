package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

func newSweep() *cobra.Command {
	inst := newInstallation()
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Watch and control the sweeps of remote services, or of a run",
		Long: `sweep manages sweeps while they run. Each run --remote makes a sweep of the remote services, which continues when the command ends.
A run without --remote is controlled with --out, while it runs; ID may then be omitted. It ends with its command, and --resume
continues it.`,
		Example: `  toolsandbox sweep list --remote
  toolsandbox sweep top --remote
  toolsandbox sweep pause nightly --remote
  toolsandbox sweep set --out out --parallel 4`,
	}
	asGroup(cmd)
	inst.register(cmd.PersistentFlags())
	cmd.AddCommand(newSweepList(inst), newSweepShow(inst), newSweepWatch(inst), newSweepTop(inst), newSweepPause(inst), newSweepResume(inst), newSweepSet(inst),
		newSweepRequeue(inst), newSweepCancel(inst), newSweepDelete(inst))
	return cmd
}

// installation locates the services of sweeps.
type installation struct {
	config standalone.Config
	out    string
	flags  *pflag.FlagSet
}

func newInstallation() *installation {
	i := &installation{config: standalone.DefaultConfig(), flags: pflag.NewFlagSet("installation", pflag.ContinueOnError)}
	i.config.Network.Remote = true
	return i
}

func (i *installation) register(flags *pflag.FlagSet) {
	i.flags.BoolVar(&i.config.Network.Remote, "remote", true, "use the services at --orchestrator-addr, unless --out is given")
	i.config.Network.RegisterClientFlags(i.flags)
	addSettings(flags, i.flags)
	flags.StringVar(&i.out, "out", "", "`directory` of a run without --remote that is in progress; use it instead of services")
}

// use connects to the services and calls do.
func (i *installation) use(ctx context.Context, stderr io.Writer, do func(context.Context, *rpc.Node) error) error {
	if i.out == "" && !i.config.Network.Remote {
		return process.UsageErrorf("--remote: false given, expected true, or the directory of a run with --out")
	}
	if err := i.config.Network.Validate(); err != nil {
		return process.UsageErrorf("%w", err)
	}
	with := standalone.With
	if i.out != "" {
		if i.flags.Changed("remote") || i.flags.Changed("orchestrator-addr") {
			return process.UsageErrorf("--out: given together with --remote or --orchestrator-addr, expected one place")
		}
		with = play.WithSocket(i.out)
	}
	err := with(ctx, i.config, rpc.Options{Logger: process.TextLog(stderr, "warn")}, do)
	if unknown, ok := errors.AsType[*sweep.UnknownError](err); ok {
		return process.UsageErrorf("ID: %w", unknown)
	}
	return err
}

// useSweep connects to the services and calls do with the sweep that the argument of a command
// names. The only sweep of a run needs no name.
func (i *installation) useSweep(
	cmd *cobra.Command, args []string, do func(ctx context.Context, client orchestratorv1.OrchestratorServiceClient, id string) error,
) error {
	return i.use(cmd.Context(), cmd.ErrOrStderr(), func(ctx context.Context, services *rpc.Node) error {
		client := orchestratorOf(services)
		if len(args) > 0 {
			return do(ctx, client, args[0])
		}
		id, err := sweep.Only(ctx, client)
		if errors.Is(err, sweep.ErrSeveral) {
			return process.UsageErrorf("ID: missing: %w", err)
		}
		if err != nil {
			return err
		}
		return do(ctx, client, id)
	})
}

func orchestratorOf(services *rpc.Node) orchestratorv1.OrchestratorServiceClient {
	return orchestratorv1.NewOrchestratorServiceClient(services.Conn(rpc.Orchestrator))
}

// sweepID checks the one argument of a command.
func (i *installation) sweepID(_ *cobra.Command, args []string) error {
	if len(args) == 0 && i.out != "" {
		return nil
	}
	if err := positional("ID")(nil, args); err != nil {
		return err
	}
	if args[0] == "" {
		return process.UsageErrorf("ID: empty: see toolsandbox sweep list")
	}
	return sweep.CheckID("ID", args[0])
}

func newSweepList(inst *installation) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sweeps",
		Long: `list prints the sweeps by id, with the number of rollouts that have a result. A sweep is running until all have one, unless it
is paused, is cancelled or has reached its spend limit. Rollouts that a cancellation ended are not counted.`,
		Example: "  toolsandbox sweep list --remote\n  toolsandbox sweep list --remote --json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inst.use(cmd.Context(), cmd.ErrOrStderr(), func(ctx context.Context, services *rpc.Node) error {
				infos, err := sweep.List(ctx, orchestratorOf(services))
				if err != nil {
					return err
				}
				sweeps := make([]report.Sweep, len(infos))
				for i, info := range infos {
					sweeps[i] = report.NewSweep(info)
				}
				if asJSON {
					return report.JSON(cmd.OutOrStdout(), sweeps)
				}
				return report.Sweeps(cmd.OutOrStdout(), sweeps)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
