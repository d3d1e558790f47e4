package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

func newSweepWatch(inst *installation) *cobra.Command {
	var asJSON bool
	var rollout int
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Follow a sweep to its end",
		Long: `watch prints the results of a sweep, first the existing ones, then new ones as they come, and ends with the sweep. It is
read-only: any number may watch. The results stay with the services; the command that started the sweep fetches them with
--resume. With --rollout it follows one running rollout: after each turn it prints the score so far and how often the user left
its role.`,
		Example: "  toolsandbox sweep watch nightly --remote\n  toolsandbox sweep watch nightly --remote --json\n  toolsandbox sweep watch nightly --remote --rollout 3",
		Args:    inst.sweepID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("rollout") {
				return inst.useSweep(cmd, args, func(ctx context.Context, client orchestratorv1.OrchestratorServiceClient, id string) error {
					w := &sweepWatch{id: id, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), asJSON: asJSON}
					return w.run(ctx, client)
				})
			}
			if inst.out != "" {
				return process.UsageErrorf("--rollout: given, but a run tells no scores before its rollouts end")
			}
			return inst.use(cmd.Context(), cmd.ErrOrStderr(), func(ctx context.Context, services *rpc.Node) error {
				return watchRollout(ctx, services, fmt.Sprintf("%s.%d", args[0], rollout), cmd.OutOrStdout(), asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON for each result")
	cmd.Flags().IntVar(&rollout, "rollout", 0, "follow only the rollout with this `number`: the part of its id after the sweep's")
	return cmd
}

// sweepWatch shows a sweep.
type sweepWatch struct {
	id             string
	stdout, stderr io.Writer
	asJSON         bool

	total, done, scored int
	sum                 float64
	progress            *report.Progress
	wait                report.Wait
}

func (w *sweepWatch) run(ctx context.Context, client orchestratorv1.OrchestratorServiceClient) error {
	err := sweep.Watch(ctx, client, w.id, w.begin, w.add)
	if w.progress != nil {
		w.progress.End()
	}
	spent, isSpent := errors.AsType[*sweep.SpendLimitError](err)
	switch {
	case ctx.Err() != nil && err != nil:
		return fmt.Errorf("interrupted with %d of %d rollouts done: the sweep continues", w.done, w.total)
	case errors.Is(err, process.ErrCancelled):
		return fmt.Errorf("%w with %d of %d rollouts done: the command that started it plays the others with --resume", err, w.done, w.total)
	case isSpent:
		return fmt.Errorf("%s; %d of %d rollouts are done: the command that started it continues with a higher limit and --resume", spent.Reason, w.done, w.total)
	case err != nil:
		return sweep.ExplainUnknown(ctx, client, w.id, err)
	case w.asJSON:
		return nil
	}
	mean := "none has a score"
	if w.scored > 0 {
		mean = fmt.Sprintf("%d have a score, mean %.3f", w.scored, w.sum/float64(w.scored))
	}
	return printf(w.stdout, "sweep %s has ended: %d rollouts, %s", w.id, w.done, mean)
}

// begin takes the progress of the sweep.
func (w *sweepWatch) begin(progress *orchestratorv1.SweepProgress) error {
	w.total = int(progress.GetTotal())
	if w.progress == nil {
		w.progress = report.NewProgress(w.stderr, w.total, int(progress.GetDone()))
	}
	if w.asJSON {
		w.wait.Report(w.stderr, progress)
	} else {
		w.progress.Report(progress)
	}
	return nil
}

// add shows a result.
func (w *sweepWatch) add(result *busv1.Result) error {
	if result.GetEnd().GetReason() != busv1.EndReason_END_REASON_CANCELLED {
		w.done++
	}
	row := report.Row{Name: result.GetRollout().GetScenario() + " " + strconv.Itoa(int(result.GetRollout().GetTrial())), Result: result}
	if row.Scored() {
		w.scored++
		w.sum += result.GetSimilarity()
	}
	if !w.asJSON {
		w.progress.Add(row)
		return nil
	}
	w.wait.Reset()
	return json.NewEncoder(w.stdout).Encode(report.NewSweepResult(result))
}

// rolloutScore is a line of sweep watch --rollout for programs.
type rolloutScore struct {
	Rollout    string  `json:"rollout"`
	Messages   int32   `json:"messages"`
	Similarity float64 `json:"similarity"`
	UserFlags  int     `json:"user_flags"`
	Final      bool    `json:"final"`
}

// watchRollout shows the score of one rollout until it is final.
func watchRollout(ctx context.Context, services *rpc.Node, id string, stdout io.Writer, asJSON bool) error {
	stream, err := evaluatorv1.NewEvaluatorServiceClient(services.Conn(rpc.Evaluator)).WatchScore(ctx, &evaluatorv1.WatchScoreRequest{RolloutId: id})
	if err != nil {
		return err
	}
	for {
		response, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case status.Code(err) == codes.NotFound:
			return process.UsageErrorf("--rollout: %s has not started or does not exist: see toolsandbox session list", id)
		case err != nil:
			return err
		}
		result := response.GetResult()
		score := rolloutScore{id, result.GetMessageCount(), result.GetSimilarity(), len(result.GetUserFlags()), response.GetFinal()}
		if asJSON {
			err = json.NewEncoder(stdout).Encode(score)
		} else {
			err = printf(stdout, "%3d messages  %.3f  user flags: %d", score.Messages, score.Similarity, score.UserFlags)
		}
		if err != nil {
			return err
		}
	}
}
