package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/services/agentgw"
	"github.com/toolsandbox/toolsandbox/services/evaluator"
	"github.com/toolsandbox/toolsandbox/services/orchestrator"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run one service in its own process",
		Long: `serve runs one service of an installation. Its flags give the addresses of the others and of a NATS server. Each flag is also
an environment variable, such as TOOLSANDBOX_NATS_URL. A service runs until SIGINT or SIGTERM, and then finishes what is in flight,
for at most --grace.`,
	}
	asGroup(cmd)
	cmd.AddCommand(
		newService(rpc.Orchestrator, "Run rollouts and publish their messages", func(flags *pflag.FlagSet) (func() error, process.Run) {
			cfg := orchestrator.DefaultConfig()
			cfg.RegisterFlags(flags)
			return func() error { return cfg.Validate() }, func(ctx context.Context, m *rpc.Node) error {
				return orchestrator.Run(ctx, cfg, m.Network(), m.Bus().Orchestrator())
			}
		}),
		newService(rpc.ToolHost, "Own sessions and execute tools", func(flags *pflag.FlagSet) (func() error, process.Run) {
			cfg := toolhost.DefaultConfig()
			cfg.RegisterFlags(flags)
			return func() error { return cfg.Validate() }, func(ctx context.Context, m *rpc.Node) error {
				return toolhost.Run(ctx, cfg, m.Network(), m.Bus().ToolHost())
			}
		}),
		newService(rpc.AgentGateway, "Get turns from models and plug-in agents", func(flags *pflag.FlagSet) (func() error, process.Run) {
			cfg := agentgw.DefaultConfig()
			cfg.RegisterFlags(flags)
			return func() error { return cfg.Validate() }, func(ctx context.Context, m *rpc.Node) error {
				return agentgw.Run(ctx, cfg, m.Network(), m.Bus().AgentGateway())
			}
		}),
		newService(rpc.Evaluator, "Score trajectories", func(flags *pflag.FlagSet) (func() error, process.Run) {
			cfg := evaluator.DefaultConfig()
			cfg.RegisterFlags(flags)
			return func() error { return cfg.Validate() }, func(ctx context.Context, m *rpc.Node) error {
				return evaluator.Run(ctx, cfg, m.Network(), m.Bus().Evaluator())
			}
		}),
		newNATS(),
	)
	return cmd
}

// newService returns the command of a service. configure is that of process.NewProcess. It also
// returns what validates the flags: before the service waits for NATS.
func newService(service rpc.Service, short string, configure func(*pflag.FlagSet) (validate func() error, run process.Run)) *cobra.Command {
	cmd := &cobra.Command{
		Use:     string(service),
		Short:   short,
		Example: fmt.Sprintf("  toolsandbox serve %s --nats-url nats://127.0.0.1:4222", service),
		Args:    noArguments,
	}
	settings := pflag.NewFlagSet(string(service), pflag.ContinueOnError)
	var validate func() error
	server := process.NewProcess(service, func(flags *pflag.FlagSet) (run process.Run) {
		validate, run = configure(flags)
		return run
	}, settings)
	addSettings(cmd.Flags(), settings)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := validate(); err != nil {
			return process.UsageErrorf("%w", err)
		}
		return server.Run(cmd.Context())
	}
	return cmd
}

func newNATS() *cobra.Command {
	cfg := natsserver.Config{Dir: "data/nats", Listen: "127.0.0.1:4222"}
	cmd := &cobra.Command{
		Use:   "nats",
		Short: "Run a NATS JetStream server for separate services",
		Long: `nats runs the NATS JetStream server that is built into this program, for one machine. deploy/k8s has a manifest for
clusters. Without --passwords and --tls-ca everybody who reaches its port may do everything. With one of them each role is a user
that may do what toolsandbox bus permissions prints.`,
		Example: `  toolsandbox serve nats --listen 127.0.0.1:4222 --dir data/nats
  toolsandbox serve nats --listen 0.0.0.0:4222 --tls-cert nats.crt --tls-key nats.key --tls-ca ca.crt`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cfg.Access.Validate(); err != nil {
				return process.UsageErrorf("%w", err)
			}
			server, err := natsserver.Start(cfg)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "NATS is ready on %s, streams in %s\n", cfg.Listen, cfg.Dir); err != nil {
				return err
			}
			return errors.Join(server.Run(cmd.Context()), server.Close())
		},
	}
	cmd.Flags().StringVar(&cfg.Listen, "listen", cfg.Listen, "host:port for clients")
	cfg.Sync.RegisterFlag(cmd.Flags())
	cfg.Access.RegisterFlags(cmd.Flags())
	cmd.Flags().StringVar(&cfg.Dir, "dir", cfg.Dir, "directory for the streams")
	return cmd
}
