package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/runner"
	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/session"
	"github.com/toolsandbox/toolsandbox/internal/runfiles"
)

func newSessionExchanges(from *place) *cobra.Command {
	return &cobra.Command{
		Use:   "exchanges ID",
		Short: "Print what was said to and by model providers, a JSON object a turn",
		Long: `exchanges prints what the agent gateway and the providers of models said to each other in a rollout: the request's body, each try
with its status and answer, and what the answer cost. There are neither headers nor keys. The same stands in exchanges.jsonl beside
the rollout's conversation.`,
		Example: "  toolsandbox session exchanges turn_off_wifi --out out",
		Args:    positional("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return from.use(cmd.Context(), cmd.ErrOrStderr(), withLogs, func(ctx context.Context, client *session.Client) error {
				found, err := client.Find(ctx, args[0])
				if err != nil {
					return err
				}
				items, err := client.Recording(ctx, found)
				if err != nil {
					return err
				}
				return runfiles.PrintExchanges(cmd.OutOrStdout(), runner.Exchanges(items))
			})
		},
	}
}
