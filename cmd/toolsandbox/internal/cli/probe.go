package cli

import (
	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/runs/play"
)

func newProbe() *cobra.Command {
	options := play.NewProbe()
	cmd := &cobra.Command{
		Use:   "probe --agent AGENT [--user USER]",
		Short: "Ask the server of a model what it does with tools and settings",
		Long: `probe asks a model's server, with at most four short requests in ten seconds, whether tools reach the model, in which form its
calls come back, how much it has room for, how fast it is, and whether it keeps a seed and a temperature. run does the same before
its first rollout. The exit code is 1 if the model answers nothing or never sees its tools.`,
		Example: `  toolsandbox probe --agent openai:qwen3 --base-url http://localhost:8000/v1
  toolsandbox probe --agent hermes --user plain:smollm2 --base-url http://localhost:8080/v1 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return options.Run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	options.RegisterFlags(cmd.Flags())
	return cmd
}
