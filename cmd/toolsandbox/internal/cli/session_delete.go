package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/session"
)

func newSessionDelete(from *sessionSource) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "delete ID...",
		Short: "Delete sessions",
		Long: `delete removes sessions with all their table versions and answers. Forks keep the history that they share with a deleted
session. If one of the sessions does not exist, none is deleted. Logs, results and the files of the run stay.`,
		Example: "  toolsandbox session delete before-the-call --out out\n  toolsandbox session delete nightly.17 nightly.18 --remote",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return process.UsageErrorf("ID: missing, expected at least one session: see --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			names := make([]string, len(args))
			for i, arg := range args {
				names[i] = from.locate(arg)
			}
			return from.use(cmd.Context(), cmd.ErrOrStderr(), onlyToolHost, func(ctx context.Context, client *session.Client) error {
				var ids []string
				for _, name := range names {
					found, err := client.Find(ctx, name)
					if err != nil {
						return err
					}
					if !slices.Contains(ids, found.GetId()) {
						ids = append(ids, found.GetId())
					}
				}
				for _, id := range ids {
					if err := client.Delete(ctx, id); err != nil {
						return err
					}
					if asJSON {
						continue
					}
					if err := printf(cmd.OutOrStdout(), "deleted %s", id); err != nil {
						return err
					}
				}
				if asJSON {
					return report.JSON(cmd.OutOrStdout(), map[string][]string{"deleted": ids})
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON after deleting all")
	return cmd
}
