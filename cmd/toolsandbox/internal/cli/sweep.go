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
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

func newSweep() *cobra.Command {
	inst := newInstallation()
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "List, watch and cancel the sweeps of remote services",
		Long: `sweep manages the sweeps of remote services. Each run --remote makes a sweep, which continues when the command ends. A run
without --remote ends with its command, and --resume continues it.`,
		Example: `  toolsandbox sweep list --remote
  toolsandbox sweep watch nightly --remote
  toolsandbox sweep cancel nightly --remote`,
	}
	asGroup(cmd)
	inst.register(cmd.PersistentFlags())
	cmd.AddCommand(newSweepList(inst), newSweepWatch(inst), newSweepCancel(inst))
	return cmd
}

// installation locates the services of sweeps.
type installation struct {
	config standalone.Config
	flags  *pflag.FlagSet
}

func newInstallation() *installation {
	i := &installation{config: standalone.DefaultConfig(), flags: pflag.NewFlagSet("installation", pflag.ContinueOnError)}
	i.config.Network.Remote = true
	return i
}

func (i *installation) register(flags *pflag.FlagSet) {
	i.flags.BoolVar(&i.config.Network.Remote, "remote", true, "use the services at --orchestrator-addr; only they have sweeps")
	i.config.Network.RegisterClientFlags(i.flags)
	addSettings(flags, i.flags)
}

// use connects to the services and calls do.
func (i *installation) use(ctx context.Context, stderr io.Writer, do func(context.Context, *rpc.Node) error) error {
	if !i.config.Network.Remote {
		return process.UsageErrorf("--remote: false given, expected true: a run in one process ends with its command")
	}
	if err := i.config.Network.Validate(); err != nil {
		return process.UsageErrorf("%w", err)
	}
	log := process.DefaultLog()
	log.Level = "warn"
	err := standalone.With(ctx, i.config, rpc.Options{Logger: log.New(stderr)}, do)
	if unknown, ok := errors.AsType[*sweep.UnknownError](err); ok {
		return process.UsageErrorf("ID: %w", unknown)
	}
	return err
}

func orchestratorOf(services *rpc.Node) orchestratorv1.OrchestratorServiceClient {
	return orchestratorv1.NewOrchestratorServiceClient(services.Conn(rpc.Orchestrator))
}

// sweepID checks the one argument of a command.
func sweepID(_ *cobra.Command, args []string) error {
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
is cancelled or has reached its spend limit. Rollouts that a cancellation ended are not counted.`,
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
