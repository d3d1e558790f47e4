package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/report"
	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/session"
	"github.com/toolsandbox/toolsandbox/internal/process"
)

func newSessionFork(from *place) *cobra.Command {
	var at int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "fork ID --at INDEX NEW_ID",
		Short: "Make a session that shares another's history up to a message",
		Long: `fork makes the session NEW_ID, whose world is that of ID after a message. Both share their history, which is not copied; what
happens in one from then on is not seen in the other. Repeating the command is no error.`,
		Example: "  toolsandbox session fork turn_off_wifi --at 4 before-the-call --out out",
		Args:    positional("ID", "NEW_ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("at") {
				return process.Usage("--at: missing, expected the last message that both sessions share: see toolsandbox session show %s", report.ShellWord(args[0]))
			}
			return from.use(cmd.Context(), cmd.ErrOrStderr(), withLogs, func(ctx context.Context, client *session.Client) error {
				found, err := verified(ctx, client, args[0])
				if err != nil {
					return err
				}
				if at, err = messageOf("--at", strconv.Itoa(at), int(found.GetLastIndex())); err != nil {
					return err
				}
				fork, err := client.Fork(ctx, found, at, args[1])
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
	cmd.Flags().IntVar(&at, "at", 0, "number of the last message that both share")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// replayedLine is a session that a replay found identical, in the output for programs.
type replayedLine struct {
	ID       string `json:"id"`
	To       int    `json:"to"`
	Answers  int    `json:"answers"`
	Versions int    `json:"versions"`
}

func newSessionReplay(from *place) *cobra.Command {
	var to int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay ID",
		Short: "Execute a session's calls again and compare every byte",
		Long: `replay makes a session that starts as ID did, executes the calls that the log of its rollout records, one batch at a time,
and compares every answer and every table version with what is stored, byte by byte. The new session is removed afterwards. The
exit code is 1 if anything differs, and the first difference is printed.`,
		Example: "  toolsandbox session replay turn_off_wifi --out out\n  toolsandbox session replay turn_off_wifi --to 5 --out out",
		Args:    positional("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			until := -1
			if cmd.Flags().Changed("to") {
				if until = to; until < 0 {
					return process.Usage("--to: %d given, expected a message, 0 or more", to)
				}
			}
			return from.use(cmd.Context(), cmd.ErrOrStderr(), withLogs, func(ctx context.Context, client *session.Client) error {
				found, err := client.Find(ctx, args[0])
				if err != nil {
					return err
				}
				replayed, err := client.Replay(ctx, found, until)
				if errors.Is(err, session.ErrDiffers) {
					return fmt.Errorf("session %s: %w", found.GetId(), err)
				}
				if err != nil {
					return err
				}
				if asJSON {
					return report.JSON(cmd.OutOrStdout(), replayedLine{found.GetId(), replayed.To, replayed.Answers, replayed.Versions})
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
