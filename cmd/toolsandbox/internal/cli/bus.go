package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
)

func newBus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bus",
		Short: "Prepare a NATS server for separate services",
	}
	asGroup(cmd)
	cmd.AddCommand(newBusInit(), newBusPermissions())
	return cmd
}

func newBusInit() *cobra.Command {
	network, logging := rpc.DefaultConfig(), process.DefaultLog()
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create the streams of an installation",
		Long: `init creates the NATS streams that the services use, or changes their settings. The services wait for it. It waits for NATS and
for a leader of its servers, and changes nothing when it is repeated.`,
		Example: `  toolsandbox bus init --nats-url nats://127.0.0.1:4222 --bus-retention 720h`,
		Args:    noArguments,
	}
	settings := pflag.NewFlagSet("init", pflag.ContinueOnError)
	logging.RegisterFlags(settings)
	network.RegisterBusFlags(settings)
	addSettings(cmd.Flags(), settings)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := errors.Join(logging.Validate(), network.Validate()); err != nil {
			return process.UsageErrorf("%w", err)
		}
		return rpc.InitBus(cmd.Context(), network, logging.New(os.Stderr))
	}
	return cmd
}

func newBusPermissions() *cobra.Command {
	cfg := bus.DefaultConfig()
	passwords := false
	cmd := &cobra.Command{
		Use:   "permissions",
		Short: "Print the users of NATS and what each may do",
		Long: `permissions prints configuration for a NATS server of your own: a user for each role, with the subjects that it publishes and
reads, and nothing else. A user is known by its client certificate, whose DNS name is the role (verify_and_map). With
--passwords it is known by a password, which the server reads from its environment: ORCHESTRATOR_PASSWORD and so on.`,
		Example: `  toolsandbox bus permissions >permissions.conf
  toolsandbox bus permissions --passwords --bus-shards 8`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cfg.Validate(); err != nil {
				return process.UsageErrorf("%w", err)
			}
			return bus.WritePermissions(cmd.OutOrStdout(), cfg.Shards, passwords)
		},
	}
	cmd.Flags().IntVar(&cfg.Shards, "bus-shards", cfg.Shards, "number of message log streams")
	cmd.Flags().BoolVar(&passwords, "passwords", passwords, "users have passwords instead of certificates")
	return cmd
}
