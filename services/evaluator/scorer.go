package evaluator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/cause"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/score"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/translate"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/usercheck"
)

// cacheSize is the maximum number of scenarios whose compiled evaluation and starting tables are in
// memory.
const cacheSize = 4096

// errUnscorable means that an evaluation or a trajectory cannot be scored.
var errUnscorable = errors.New("cannot be scored")

// startingWorld is how the rollouts of a setup start.
type startingWorld struct {
	tables     translate.Versions
	world      *cause.World
	categories []string
	// scenario describes the scenario in traces.
	scenario []attribute.KeyValue
}

// scorer scores trajectories. It is safe for concurrent use.
type scorer struct {
	bus      bus.Evaluator
	traces   *telemetry.Telemetry
	tracer   trace.Tracer
	logger   *slog.Logger
	compiled *lru.Cache[string, *translate.Evaluation]
	// starting are the starts of rollouts, by digest of the setup.
	starting *lru.Cache[string, *startingWorld]
	meters   *meters
}

func newScorer(b bus.Evaluator, traces *telemetry.Telemetry, logger *slog.Logger) (*scorer, error) {
	compiled, err := lru.New[string, *translate.Evaluation](cacheSize)
	starting, err2 := lru.New[string, *startingWorld](cacheSize)
	meters, err3 := newMeters()
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	return &scorer{
		bus: b, traces: traces, tracer: otel.Tracer(telemetry.Scope), logger: logger, compiled: compiled, starting: starting, meters: meters,
	}, nil
}

// retryUnavailable retries a task while NATS does not answer. Each attempt takes the timeout of the
// bus.
func (s *scorer) retryUnavailable(ctx context.Context, task func() error) error {
	for {
		err := task()
		if !errors.Is(err, bus.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		s.logger.Warn("waiting for NATS", "error", err)
	}
}

// storeResult scores a complete trajectory and stores its result unless it has one.
func (s *scorer) storeResult(ctx context.Context, trajectory *assemble.Trajectory) error {
	began := time.Now()
	result, err := s.result(ctx, trajectory)
	if errors.Is(err, errUnscorable) {
		// No retry makes this trajectory scorable, so its result contains the reason.
		s.logger.Error("rollout cannot be scored", "rollout", trajectory.Rollout.GetId(), "error", err)
		result, err = &busv1.Result{End: unscoredEnd(err)}, nil
	}
	if err != nil {
		return err
	}
	result.Rollout, result.Round = trajectory.Rollout, trajectory.Round
	return s.publish(ctx, trajectory, result, began)
}

// handleRequest scores an ended rollout, or stores the failure of one that its worker gives up. No
// worker may say how else a rollout ended.
func (s *scorer) handleRequest(ctx context.Context, request *busv1.Result) error {
	end := request.GetEnd()
	if end == nil {
		return s.scoreStored(ctx, request.GetRollout(), request.GetRound())
	}
	if end.GetReason() != busv1.EndReason_END_REASON_INFRASTRUCTURE {
		s.logger.Error("request of a result refused: only an evaluator scores", "rollout", request.GetRollout().GetId(), "reason", end.GetReason())
		return nil
	}
	return s.publishFailure(ctx, request.GetRollout(), request.GetRound(), end)
}

// scoreStored scores an ended rollout from its stored log and snapshots, unless its round has a
// result. If they cannot be read, the result contains the reason.
func (s *scorer) scoreStored(ctx context.Context, rollout *busv1.Rollout, round int32) error {
	id := rollout.GetId()
	if _, err := s.bus.RoundResult(ctx, id, round); err == nil || !errors.Is(err, bus.ErrNotFound) {
		return err
	}
	var trajectory *assemble.Trajectory
	log, snapshots, err := read(ctx, s.bus, id)
	switch {
	case err == nil:
		if trajectory, err = assemble.Reassemble(id, log, snapshots); err != nil {
			err = fmt.Errorf("%w: streams %s and %s: %w", bus.ErrDamaged, s.bus.LogStream(id), s.bus.SnapshotStream(id), err)
		}
	case !errors.Is(err, bus.ErrDamaged):
		return err
	}
	switch {
	case err == nil && trajectory != nil && trajectory.Round == round:
		return s.storeResult(ctx, trajectory)
	case err == nil: // the rollout is running, possibly in another round
		return nil
	}
	s.logger.Error("rollout cannot be scored", "rollout", id, "error", err)
	return s.publishFailure(ctx, rollout, round, unscoredEnd(err))
}

// unscoredEnd returns the end of a rollout that cannot be scored.
func unscoredEnd(err error) *busv1.End {
	end := &busv1.End{
		Reason: busv1.EndReason_END_REASON_INFRASTRUCTURE, Detail: err.Error(), FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_INTERNAL,
	}
	if measure.IsFailure(err) {
		end.ExceptionType = measure.Exception
	}
	return end
}

// result scores a trajectory and checks its user, unless that is a script. It does not read the
// omitted messages of a trajectory without a score.
func (s *scorer) result(ctx context.Context, trajectory *assemble.Trajectory) (*busv1.Result, error) {
	result := &busv1.Result{}
	var world *cause.World
	evaluation, err := s.evaluation(ctx, trajectory.Rollout.GetEvaluationDigest())
	if err != nil {
		return nil, err
	}
	if trajectory, err = s.readOmitted(ctx, trajectory); err != nil {
		return nil, err
	}
	switch {
	case bus.IsComplete(trajectory.End):
		if evaluation.Task != nil {
			result = grade(evaluation.Task, trajectory.Messages, trajectory.Rollout.GetAgent().GetPlugin() != nil)
			break
		}
		starting, err := s.startingWorld(ctx, trajectory.Rollout.GetSetupDigest())
		if err != nil {
			return nil, err
		}
		scored, err := evaluate(evaluation, trajectory.Messages, starting.tables, trajectory.Tables)
		if err != nil {
			return nil, err
		}
		result = translate.Result(scored, trajectory.Len())
		world = starting.world
	case trajectory.End.GetReason() == busv1.EndReason_END_REASON_MODEL_FAILURE:
		result.TurnCount = trajectory.MaxMessages
		if evaluation.Task != nil {
			result = grade(evaluation.Task, nil, false)
		}
	}
	result.End, result.LogDigest = trajectory.End, trajectory.Digest
	result.MilestoneCount = int32(evaluation.Milestones.Len())
	result.MessageCount = int32(trajectory.Len())
	if isChecked(trajectory.Rollout.GetUser()) {
		result.UserFlags = usercheck.Check(evaluation.User, trajectory.Messages, trajectory.Starting)
	}
	if !bus.IsUnscored(trajectory.End) && evaluation.Task == nil {
		result.Causes = cause.Find(trajectory, result, evaluation.Source, world)
	}
	return result, nil
}

// readOmitted reads a trajectory's omitted messages from the bus if they are to be scored or their
// user is to be checked. A trajectory that is not scored stays as it is if that fails.
func (s *scorer) readOmitted(ctx context.Context, trajectory *assemble.Trajectory) (*assemble.Trajectory, error) {
	if trajectory.Omitted == 0 || !bus.IsComplete(trajectory.End) && !isChecked(trajectory.Rollout.GetUser()) {
		return trajectory, nil
	}
	log, snapshots, err := read(ctx, s.bus, trajectory.Rollout.GetId())
	if err != nil && !errors.Is(err, bus.ErrDamaged) {
		return nil, err
	}
	complete := trajectory
	if err == nil {
		complete, err = trajectory.WithOmitted(log, snapshots)
	}
	switch {
	case err != nil && bus.IsComplete(trajectory.End):
		return nil, fmt.Errorf("%w: %w", errUnscorable, err)
	case err != nil:
		s.logger.Warn("simulated user is not checked", "rollout", trajectory.Rollout.GetId(), "error", err)
		return trajectory, nil
	}
	return complete, nil
}

// isChecked reports whether a simulated user is checked: it is no script.
func isChecked(user *agentgwv1.Player) bool { return user != nil && user.GetScripted() == nil }

// evaluation returns a stored evaluation in compiled form, with a cache.
func (s *scorer) evaluation(ctx context.Context, digest string) (*translate.Evaluation, error) {
	if compiled, ok := s.compiled.Get(digest); ok {
		return compiled, nil
	}
	evaluation, err := s.bus.Evaluation(ctx, digest)
	if errors.Is(err, bus.ErrNotFound) {
		return nil, fmt.Errorf("%w: its evaluation was never stored", errUnscorable)
	}
	if err != nil {
		return nil, err
	}
	compiled, err := translate.Compile(evaluation)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnscorable, err)
	}
	s.compiled.Add(digest, compiled)
	return compiled, nil
}

// startingWorld returns how the rollouts of a setup start, with a cache.
func (s *scorer) startingWorld(ctx context.Context, digest string) (*startingWorld, error) {
	if starting, ok := s.starting.Get(digest); ok {
		return starting, nil
	}
	setup, err := s.bus.Setup(ctx, digest)
	if errors.Is(err, bus.ErrNotFound) {
		return nil, fmt.Errorf("%w: its setup is no longer stored", errUnscorable)
	}
	if err != nil {
		return nil, err
	}
	starting := &startingWorld{
		tables:     translate.NewVersions(setup.GetTables()),
		categories: setup.GetCategories(),
		world:      cause.NewWorld(setup.GetClock().GetTimeZone(), setup.GetCategories(), setup.GetTables(), setup.GetSchema()),
		scenario: []attribute.KeyValue{
			telemetry.Categories.StringSlice(setup.GetCategories()), telemetry.Variant.String(variant(setup.GetTools().GetAugmentations())),
		},
	}
	s.starting.Add(digest, starting)
	return starting, nil
}

func evaluate(
	evaluation *translate.Evaluation, messages []*worldv1.Message, starting translate.Versions, tables []*worldv1.Table,
) (score.Result, error) {
	trajectory, err := evaluation.Trajectory(messages, starting, tables)
	if err != nil {
		return score.Result{}, fmt.Errorf("%w: %w", errUnscorable, err)
	}
	scored := score.Score(trajectory, evaluation.Milestones, evaluation.Minefields)
	if scored.Err != nil {
		return score.Result{}, fmt.Errorf("%w: %w", errUnscorable, scored.Err)
	}
	return scored, nil
}

// explain scores a trajectory and explains each number.
func explain(req *evaluatorv1.ExplainTrajectoryRequest) (*evaluatorv1.ExplainTrajectoryResponse, error) {
	evaluation, err := check(req.GetEvaluation())
	if err != nil {
		return nil, err
	}
	if evaluation.Task != nil {
		return &evaluatorv1.ExplainTrajectoryResponse{Result: grade(evaluation.Task, req.GetMessages(), req.GetTextIsNoCall())}, nil
	}
	trajectory, err := evaluation.Trajectory(req.GetMessages(), nil, req.GetTables())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnscorable, err)
	}
	explained := score.Explain(trajectory, evaluation.Milestones, evaluation.Minefields)
	if explained.Result.Err != nil {
		return nil, fmt.Errorf("%w: %w", errUnscorable, explained.Result.Err)
	}
	return translate.Explanation(explained, req.GetEvaluation(), len(req.GetMessages())), nil
}

// check compiles an evaluation without caching it.
func check(evaluation *evaluationv1.Evaluation) (*translate.Evaluation, error) {
	compiled, err := translate.Compile(evaluation)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnscorable, err)
	}
	return compiled, nil
}
