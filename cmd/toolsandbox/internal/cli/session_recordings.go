package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/runs/session"
)

func newSessionRecordings(from *sessionSource) *cobra.Command {
	return &cobra.Command{
		Use:   "recordings ID",
		Short: "Print the answers of hosted services as recordings",
		Long: `recordings prints the answers of hosted services in a session with --services live or --services record, in YAML, as the
recordings of a scenario. With them the scenario needs no network. If a request has two answers, the first counts. Comments
name the failed requests.`,
		Example: "  toolsandbox session recordings weather_last_monday --out out > recordings.yaml",
		Args:    positional("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := from.locate(args[0])
			return from.use(cmd.Context(), cmd.ErrOrStderr(), withLogs, func(ctx context.Context, client *session.Client) error {
				found, err := client.Verified(ctx, id)
				if err != nil {
					return err
				}
				answers, err := client.Answers(ctx, found.GetId())
				if err != nil {
					return err
				}
				return session.WriteRecordings(cmd.OutOrStdout(), answers)
			})
		},
	}
}
