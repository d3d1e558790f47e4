package play

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// destination is where finished rollouts go.
type destination interface {
	// add stores a rollout, and sets its digests or why it cannot be read. It is called concurrently.
	add(ctx context.Context, rollout *results.Rollout) error
	// end is called once, after the last add. It returns what is still to be written beside RunFile,
	// and the digests of what is written, by their paths below the run's directory. rollouts are all
	// of the run, which ends with them, and none after an error.
	end(rollouts []results.Rollout) (content map[string][]byte, digests map[string]string, err error)
}

// files are the files in the original's format, or else only the digests that they would have.
type files struct {
	dir string
	run *results.Run
}

func (f *files) add(_ context.Context, rollout *results.Rollout) (err error) {
	switch {
	case rollout.Damage != "": // existing files stay
	case f.run.Has(results.FormatFiles):
		rollout.Digest, err = results.WriteTrajectory(f.dir, *rollout)
	default:
		rollout.Digest, err = results.ContextDigest(*rollout)
	}
	return err
}

func (f *files) end(rollouts []results.Rollout) (content map[string][]byte, digests map[string]string, err error) {
	if f.run.Has(results.FormatFiles) {
		content, err = results.SummaryFiles(rollouts)
	}
	return content, nil, err
}

// recorder stores the external input of rollouts for a replay and, beside the original's files, the
// models' exchanges for people.
type recorder struct {
	run    *collector
	served bool // some scenario has tool servers
}

func (r *recorder) add(ctx context.Context, rollout *results.Rollout) (err error) {
	played, spec := rollout.Result.GetRollout(), r.run.spec
	if rollout.Damage != "" || spec.Fork == nil && !sweep.HasExternalInput(r.served, spec.Services, played.GetAgent(), played.GetUser()) {
		return nil
	}
	switch rollout.RecordingDigest, err = r.store(ctx, rollout); status.Code(err) {
	case codes.DataLoss, codes.NotFound: // lost since the trajectory was read
		rollout.Damage = err.Error()
		return nil
	}
	return err
}

// store returns the digest of the input.
func (r *recorder) store(ctx context.Context, rollout *results.Rollout) (digest string, err error) {
	id, kept := rollout.Result.GetRollout().GetId(), ""
	items, err := r.run.planned.Recorded(ctx, id)
	if err != nil {
		return "", err
	}
	if earlier := r.run.earlier[id]; earlier.Scored && earlier.ContextSHA256 == rollout.Digest {
		kept = earlier.RecordingSHA256
	}
	digest, wrote, err := r.run.directory.record(results.PlanNumber(id), items, kept)
	exchanges := Exchanges(items)
	if err != nil || !wrote || r.run.record.HasOnlyTables() || len(exchanges) == 0 {
		return digest, err
	}
	return digest, results.WriteExchanges(r.run.directory.path, rollout.Directory, exchanges)
}

func (r *recorder) end([]results.Rollout) (map[string][]byte, map[string]string, error) {
	return nil, nil, nil
}

// Exchanges selects the exchanges with model providers.
func Exchanges(items []*orchestratorv1.RecordedItem) []results.Exchange {
	var exchanges []results.Exchange
	for _, item := range items {
		if exchange := item.GetTurn().GetExchange(); exchange != nil {
			exchanges = append(exchanges, results.Exchange{Index: int(item.GetIndex()), Data: exchange})
		}
	}
	return exchanges
}

// tables are the Parquet tables, with the comparisons behind each score.
type tables struct {
	*results.Tables
	settled   map[int]bool // they have these rollouts, by number in the plan
	evaluator evaluatorv1.EvaluatorServiceClient
}

func (t *tables) add(ctx context.Context, rollout *results.Rollout) error {
	if t.settled[results.PlanNumber(rollout.Result.GetRollout().GetId())] {
		return nil
	}
	var explained *evaluatorv1.ExplainTrajectoryResponse
	if rollout.Damage == "" && !rollout.Failed() && resultfile.Scored(rollout.Result) {
		var err error
		explained, err = t.evaluator.ExplainTrajectory(ctx, &evaluatorv1.ExplainTrajectoryRequest{
			Evaluation: rollout.Scenario.GetEvaluation(), Messages: rollout.Messages, Tables: rollout.Tables,
			TextIsNoCall: rollout.Result.GetRollout().GetAgent().GetPlugin() != nil,
		})
		if err != nil && status.Code(err) != codes.InvalidArgument { // a trajectory that cannot be compared
			return fmt.Errorf("explain %s: %w", rollout.Name(), err)
		}
	}
	return t.Add(*rollout, explained)
}

func (t *tables) end([]results.Rollout) (map[string][]byte, map[string]string, error) {
	digests, err := t.Close()
	return nil, digests, err
}

// euroEvalRecords are the verdicts on answers to records of EuroEval's task. Other runs have none.
type euroEvalRecords struct {
	run     *results.Run
	draws   euroeval.Settings
	planned int               // number of answers that the run wants
	content *results.EuroEval // nil until files, and if no record was played
}

// files returns the files of a run that ends with these rollouts. EuroEval's own file is for
// others: there is none while an answer is missing, because a line does not say of how many it is.
func (e *euroEvalRecords) files(rollouts []results.Rollout, ended time.Time) (content map[string][]byte, err error) {
	if e.content, err = results.NewEuroEval(rollouts, e.draws); err != nil || e.content == nil {
		return nil, err
	}
	content, err = e.content.Files(e.run.Agent, ended)
	if len(e.content.Answers) < e.planned {
		delete(content, euroeval.ResultsName)
	}
	return content, err
}
