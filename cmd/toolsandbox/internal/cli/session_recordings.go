package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/session"
)

func newSessionRecordings(from *place) *cobra.Command {
	return &cobra.Command{
		Use:   "recordings ID",
		Short: "Print what hosted services answered, as recordings of a scenario",
		Long: `recordings prints what hosted services answered to a session that ran with --services live or --services record, as the
recordings of a scenario in YAML: with them the scenario needs no network. Where a request was answered twice, the first answer
counts. Comments say which requests failed.`,
		Example: "  toolsandbox session recordings weather_tomorrow --out out > recordings.yaml",
		Args:    positional("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return from.use(cmd.Context(), cmd.ErrOrStderr(), withLogs, func(ctx context.Context, client *session.Client) error {
				found, err := verified(ctx, client, args[0])
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
