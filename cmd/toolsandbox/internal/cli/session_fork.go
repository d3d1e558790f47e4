package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/session"
)

func newSessionFork(from *sessionSource) *cobra.Command {
	var message int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "fork ID --at INDEX NEW_ID",
		Short: "Fork a session after a message",
		Long: `fork makes the session NEW_ID with the world of ID after a message. Both share their history up to there, without a copy;
later changes of one do not reach the other. The command is idempotent.`,
		Example: "  toolsandbox session fork turn_off_wifi --at 4 before-the-call --out out",
		Args:    positional("ID", "NEW_ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("at") {
				return process.UsageErrorf("--at: missing, expected the last shared message: see toolsandbox session show %s", report.ShellWord(args[0]))
			}
			id := from.locate(args[0])
			return from.use(cmd.Context(), cmd.ErrOrStderr(), withLogs, func(ctx context.Context, client *session.Client) error {
				found, err := client.Verified(ctx, id)
				if err != nil {
					return err
				}
				if message, err = session.MessageOf("--at", strconv.Itoa(message), int(found.GetLastIndex())); err != nil {
					return err
				}
				fork, err := client.Fork(ctx, found, message, args[1])
				if err != nil {
					return err
				}
				if asJSON {
					return report.JSON(cmd.OutOrStdout(), session.JSON(fork))
				}
				return printf(cmd.OutOrStdout(), "%s shares messages 0 to %d with %s\nlook at it: toolsandbox session show %s %s",
					fork.GetId(), fork.GetForkedAt(), fork.GetParentId(), fork.GetId(), from.arguments())
			})
		},
	}
	cmd.Flags().IntVar(&message, "at", 0, "number of the last shared message")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newSessionReplay(from *sessionSource) *cobra.Command {
	var to int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay ID",
		Short: "Execute a session's calls again and compare the results byte by byte",
		Long: `replay makes a session with the initial world of ID, executes the recorded calls of its rollout, one batch at a time, and
compares every answer and every table version with the stored one, byte by byte. Then it removes the new session. If
anything differs, it prints the first difference.`,
		Example: "  toolsandbox session replay turn_off_wifi --out out\n  toolsandbox session replay turn_off_wifi --to 5 --out out",
		Args:    positional("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			until := -1
			if cmd.Flags().Changed("to") {
				if until = to; until < 0 {
					return process.UsageErrorf("--to: %d given, expected a message, 0 or more", to)
				}
			}
			id := from.locate(args[0])
			return from.use(cmd.Context(), cmd.ErrOrStderr(), withLogs, func(ctx context.Context, client *session.Client) error {
				found, err := client.Find(ctx, id)
				if err != nil {
					return err
				}
				replayed, err := client.Replay(ctx, found, until)
				if err != nil {
					return err
				}
				if asJSON {
					return report.JSON(cmd.OutOrStdout(), replayed)
				}
				return printf(cmd.OutOrStdout(), "session %s, messages 0 to %d: %d answers and %d table versions are identical",
					found.GetId(), replayed.To, replayed.Answers, replayed.Versions)
			})
		},
	}
	cmd.Flags().IntVar(&to, "to", 0, "number of the last message to replay (default: the last one)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
