package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
)

func newBus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bus",
		Short: "Prepare a NATS server for separate services",
	}
	asGroup(cmd)
	cmd.AddCommand(newBusInit())
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
		if err := errors.Join(logging.Validate(), network.Bus.Validate()); err != nil {
			return process.UsageErrorf("%w", err)
		}
		return rpc.InitBus(cmd.Context(), network, logging.New(os.Stderr))
	}
	return cmd
}
