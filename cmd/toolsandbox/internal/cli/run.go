package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/runner"
)

func newRun() *cobra.Command {
	options := runner.New(program())
	cmd := &cobra.Command{
		Use:   "run --agent AGENT [NAME...]",
		Short: "Run scenarios with an agent and score them",
		Long: `run plays scenarios between an agent and a simulated user and scores every trajectory. Without more flags all services
run in this process and keep their data below the output directory. Every flag can be set in the environment:
--trace-ratio is TOOLSANDBOX_TRACE_RATIO.`,
		Example: `  toolsandbox run --agent oracle --out out
  toolsandbox run --agent random --trials 3 --scenarios 'wifi_*,add_*' --out floor
  toolsandbox run --agent grpc://localhost:9000 --parallel 8 --out mine
  toolsandbox run --agent oracle --out out --resume
  toolsandbox run --replay out --out again`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return options.Run(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	settings := pflag.NewFlagSet("run", pflag.ContinueOnError)
	options.RegisterFlags(settings)
	addSettings(cmd.Flags(), settings)
	return cmd
}
