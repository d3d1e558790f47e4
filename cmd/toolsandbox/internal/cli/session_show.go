package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/session"
)

var (
	// onlyToolHost is the service for listing and deleting sessions.
	onlyToolHost = []rpc.Service{rpc.ToolHost}
	// withLogs are the services for sessions and the logs of their rollouts.
	withLogs = []rpc.Service{rpc.ToolHost, rpc.Orchestrator}
)

func newSessionList(from *sessionSource) *cobra.Command {
	var prefix string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions",
		Long: `list prints the sessions with their scenario, the tool host's number of messages, and the origin of forks. Messages after the
last answer of a tool do not count: they changed no table.`,
		Example: "  toolsandbox session list --out out\n  toolsandbox session list --remote --prefix nightly. --json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return from.use(cmd.Context(), cmd.ErrOrStderr(), onlyToolHost, func(ctx context.Context, client *session.Client) error {
				sessions, err := client.List(ctx, prefix)
				if err != nil {
					return err
				}
				if asJSON {
					return report.JSON(cmd.OutOrStdout(), session.ListJSON(sessions))
				}
				return session.WriteList(cmd.OutOrStdout(), sessions)
			})
		},
	}
	cmd.Flags().StringVar(&prefix, "prefix", "", "only sessions whose id has this prefix")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newSessionShow(from *sessionSource) *cobra.Command {
	var message int
	var table string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Print the tables at a message",
		Long: `show prints the tables of a session at a message, by default the last, and the list of all stored versions. With --table it
prints one table and no list.`,
		Example: "  toolsandbox session show turn_off_wifi --out out\n  toolsandbox session show turn_off_wifi --out out --at 3 --table SETTING",
		Args:    positional("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := from.locate(args[0])
			return from.use(cmd.Context(), cmd.ErrOrStderr(), withLogs, func(ctx context.Context, client *session.Client) error {
				found, err := client.Verified(ctx, id)
				if err != nil {
					return err
				}
				tables, err := session.TablesOf(world.SchemaOrBuiltin(found.GetSchema()), table)
				if err != nil {
					return err
				}
				var names []string
				for _, t := range tables {
					names = append(names, t.Name)
				}
				view := &session.View{Session: found, At: int(found.GetLastIndex())}
				if cmd.Flags().Changed("at") {
					if view.At, err = session.MessageOf("--at", strconv.Itoa(message), view.At); err != nil {
						return err
					}
				}
				if view.Tables, err = client.Tables(ctx, found, view.At, names); err != nil {
					return err
				}
				if table == "" {
					if view.Versions, err = client.Versions(ctx, found.GetId()); err != nil {
						return err
					}
				}
				return printEither(cmd.OutOrStdout(), asJSON, view)
			})
		},
	}
	cmd.Flags().IntVar(&message, "at", 0, "number of the message (default: the last one)")
	cmd.Flags().StringVar(&table, "table", "", "only this table, e.g. CONTACT")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newSessionDiff(from *sessionSource) *cobra.Command {
	var table string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff ID FROM TO",
		Short: "Print the changes between two messages",
		Long: `diff compares the tables of a session at two messages and prints the removed, added and changed rows, cell by cell. It matches
rows by their first column.`,
		Example: "  toolsandbox session diff turn_off_wifi 0 4 --out out\n  toolsandbox session diff which_mateo 0 6 --table CONTACT --json --out out",
		Args:    positional("ID", "FROM", "TO"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := from.locate(args[0])
			return from.use(cmd.Context(), cmd.ErrOrStderr(), withLogs, func(ctx context.Context, client *session.Client) error {
				changes, err := client.Diff(ctx, id, args[1], args[2], table)
				if err != nil {
					return err
				}
				return printEither(cmd.OutOrStdout(), asJSON, changes)
			})
		},
	}
	cmd.Flags().StringVar(&table, "table", "", "only this table, e.g. CONTACT")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
