package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/session"
)

func newSessionExchanges(from *sessionSource) *cobra.Command {
	return &cobra.Command{
		Use:   "exchanges ID",
		Short: "Print the requests and answers of model providers, one JSON object per turn",
		Long: `exchanges prints the traffic between the agent gateway and model providers in a rollout: the body of each request, each attempt
with its status and answer, and the cost of the answer, without headers and keys. exchanges.jsonl beside the rollout's
conversation holds the same.`,
		Example: "  toolsandbox session exchanges turn_off_wifi --out out",
		Args:    positional("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := from.locate(args[0])
			return from.use(cmd.Context(), cmd.ErrOrStderr(), withLogs, func(ctx context.Context, client *session.Client) error {
				found, err := client.Find(ctx, id)
				if err != nil {
					return err
				}
				items, err := client.Recording(ctx, found)
				if err != nil {
					return err
				}
				exchanges := play.Exchanges(items)
				if len(exchanges) == 0 {
					return report.Warn(cmd.ErrOrStderr(), "no exchange with a model is recorded of session %s", found.GetId())
				}
				return results.PrintExchanges(cmd.OutOrStdout(), exchanges)
			})
		},
	}
}
