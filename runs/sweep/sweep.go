// Package sweep runs a sweep on an installation: it stores the evaluations, creates the sweep and
// follows it to its end, through restarts of the services.
package sweep

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

const (
	// evaluationBatch is the number of evaluations per request.
	evaluationBatch = 100
	// digestLength is the number of digits of the specification's digest in a derived id.
	digestLength = 16
	// runSeparator precedes the number of a derived id.
	runSeparator = "-"
)

// ErrHasResults means that the sweep has results from an earlier run, or was deleted.
var ErrHasResults = errors.New("this sweep has results, or was deleted")

// ErrDeleted means that the sweep was deleted: its id is taken for ever.
var ErrDeleted = errors.New("was deleted")

// SpendLimitError means that the sweep has reached its spend limit. It continues when it is created
// with a higher limit.
type SpendLimitError struct {
	// Reason describes the spending.
	Reason string
}

// Error returns the reason.
func (e *SpendLimitError) Error() string { return e.Reason }

// Spec specifies a sweep.
type Spec struct {
	// ID names the sweep; empty derives it from everything else, so that the same specification has
	// the same id.
	ID        string
	Scenarios []*scenariov1.Scenario
	Agents    []*agentgwv1.Player
	Users     []*agentgwv1.Player
	Trials    int
	Seed      int64
	// Parallel is the number of concurrent rollouts of the sweep per process of the orchestrator; 0
	// leaves it to the process. It is not part of the sweep's identity.
	Parallel int
	Compat   bool
	// MaxBytes is the byte limit of a rollout's messages; 0 leaves it to the orchestrator.
	MaxBytes int64
	// RepeatLimit is the number of equal turns of the agent in a row that end a rollout, 0 for no
	// limit; nil leaves it to the orchestrator.
	RepeatLimit *int32
	// Services selects what answers the requests of tools to hosted services.
	Services toolhostv1.HostedServices
	// Limit is the total spend limit of the models, nil without one. It is not part of the sweep's
	// identity.
	Limit *agentgwv1.SpendLimit
	// Recording, if not nil, is replayed: nothing external is asked.
	Recording Recording
	// Fork, if not nil, is continued by its single scenario, instead of playing from the start. Given,
	// or Recording in a replay, has the turns before it.
	Fork  *busv1.Fork
	Given Recording
}

// Rollouts returns the number of rollouts.
func (s Spec) Rollouts() int { return len(s.Scenarios) * len(s.Agents) * len(s.Users) * s.Trials }

// Uploaded returns what is stored of other rollouts before the sweep is created, nil for nothing.
func (s Spec) Uploaded() Recording {
	if s.Recording != nil {
		return s.Recording
	}
	return s.Given
}

// WithoutScenarios returns what identifies a sweep besides its scenarios.
func (s Spec) WithoutScenarios() *orchestratorv1.SweepSpec {
	return &orchestratorv1.SweepSpec{
		Agents: s.Agents, Users: s.Users, Trials: int32(s.Trials), Seed: s.Seed, Compat: s.Compat, MaxBytes: s.MaxBytes, RepeatLimit: s.RepeatLimit,
		HostedServices: s.Services, Replay: s.Recording != nil, Fork: s.Fork,
	}
}

// Sweep is a sweep ready to be created.
type Sweep struct {
	request      *orchestratorv1.CreateSweepRequest
	digest       string
	orchestrator orchestratorv1.OrchestratorServiceClient
	recording    Recording
	rollouts     int
	// uploadedFor is the id under which the recording is stored.
	uploadedFor string
	// claimed: Claim has found an id.
	claimed bool
	// runs is the number of ids that were derived.
	runs int
}

// Prepare stores the evaluations and derives the request.
func Prepare(ctx context.Context, orchestrator, evaluator grpc.ClientConnInterface, spec Spec) (*Sweep, error) {
	digests, err := putEvaluations(ctx, evaluatorv1.NewEvaluatorServiceClient(evaluator), spec.Scenarios)
	if err != nil {
		return nil, err
	}
	request := &orchestratorv1.CreateSweepRequest{SpendLimit: spec.Limit, Spec: spec.WithoutScenarios()}
	for i, scenario := range spec.Scenarios {
		request.Spec.Scenarios = append(request.Spec.Scenarios,
			&orchestratorv1.SweepScenario{Setup: scenario.GetSetup(), EvaluationDigest: digests[i]})
	}
	digest, _, err := bus.Digest(request.GetSpec())
	if err != nil {
		return nil, err
	}
	if uploaded := spec.Uploaded(); uploaded != nil {
		sum := sha256.Sum256([]byte(digest + uploaded.Digest()))
		digest = hex.EncodeToString(sum[:])
	}
	digest = digest[:digestLength]
	request.Spec.Parallel = int32(spec.Parallel) // not part of the identity: a run may continue with another number
	request.SweepId = cmp.Or(spec.ID, digest)
	return &Sweep{
		request: request, digest: digest, orchestrator: orchestratorv1.NewOrchestratorServiceClient(orchestrator), recording: spec.Uploaded(),
		rollouts: spec.Rollouts(), runs: 1,
	}, nil
}

func putEvaluations(ctx context.Context, client evaluatorv1.EvaluatorServiceClient, scenarios []*scenariov1.Scenario) ([]string, error) {
	var digests []string
	for batch := range slices.Chunk(scenarios, evaluationBatch) {
		request := &evaluatorv1.PutEvaluationsRequest{}
		for _, scenario := range batch {
			request.Evaluations = append(request.Evaluations,
				&evaluatorv1.NamedEvaluation{Scenario: scenario.GetSetup().GetName(), Evaluation: scenario.GetEvaluation()})
		}
		response, err := client.PutEvaluations(ctx, request)
		if err != nil {
			return nil, WrapStatus("store evaluations", err)
		}
		digests = append(digests, response.GetDigests()...)
	}
	return digests, nil
}

// ID returns the sweep's id.
func (s *Sweep) ID() string { return s.request.GetSweepId() }

// Derived returns whether an id was derived from this specification.
func (s *Sweep) Derived(id string) bool {
	base, _, _ := strings.Cut(id, runSeparator)
	return base == s.digest
}

// Claim gives the sweep an id that no sweep with results and no deleted one has, and returns it.
// ErrHasResults if a given id has; a derived one then gets a number, so that the same specification
// can run again on the same installation.
func (s *Sweep) Claim(ctx context.Context) (id string, err error) {
	for {
		// Creating a sweep with results would change an earlier run's spend limit, and queue its
		// remaining rollouts.
		stored, err := s.Stored(ctx, s.ID())
		switch {
		case err != nil && !errors.Is(err, ErrDeleted):
			return "", err
		case err == nil && len(stored) == 0:
			s.claimed = true
			return s.ID(), nil
		case !s.Derived(s.ID()):
			return "", ErrHasResults
		}
		s.deriveNext()
	}
}

// Disclaim gives up a derived id if its sweep cannot be created because another team's has it,
// which Claim does not see. It reports whether to claim another one.
func (s *Sweep) Disclaim(err error) bool {
	if status.Code(err) != codes.AlreadyExists || !s.Derived(s.ID()) {
		return false
	}
	s.claimed = false
	s.deriveNext()
	return true
}

func (s *Sweep) deriveNext() {
	s.runs++
	s.request.SweepId = s.digest + runSeparator + strconv.Itoa(s.runs)
}

// Create creates the sweep, after Claim, and returns the number of its rollouts.
func (s *Sweep) Create(ctx context.Context) (total int, err error) {
	if !s.claimed {
		if _, err := s.Claim(ctx); err != nil {
			return 0, err
		}
	}
	total, _, err = s.create(ctx) // existing results are its own: the request may have been retried
	return total, err
}

// Resume creates the missing part of an existing sweep, and returns its number of rollouts and how
// many of them are done. A new round plays everything again that the infrastructure or a
// cancellation left without a score, and the damaged rollouts that are still unreadable. It has at
// least the given number, and a higher one if others have begun rounds.
func (s *Sweep) Resume(ctx context.Context, id string, round int32, damaged []string) (total, done int, err error) {
	now, err := s.state(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	s.request.SweepId, s.request.Round, s.request.Damaged = id, max(round, now.GetRound()+1), damaged
	return s.create(ctx)
}

// state returns the state of a sweep, nil if there is none.
func (s *Sweep) state(ctx context.Context, id string) (*orchestratorv1.SweepInfo, error) {
	response, err := s.orchestrator.GetSweep(ctx, &orchestratorv1.GetSweepRequest{SweepId: id})
	if err != nil && status.Code(err) != codes.NotFound {
		return nil, WrapStatus("read sweep", err)
	}
	return response.GetSweep(), nil
}

func (s *Sweep) create(ctx context.Context) (total, done int, err error) {
	if err := s.uploadRecording(ctx); err != nil {
		return 0, 0, err
	}
	response, err := s.orchestrator.CreateSweep(ctx, s.request)
	if err != nil {
		return 0, 0, WrapStatus("create sweep", err)
	}
	return int(response.GetTotal()), int(response.GetDone()), nil
}

// Watch calls handle once for every result of the sweep, until all are there; process.ErrCancelled
// or a *SpendLimitError says why some are missing. It calls progress as the function Watch does.
// Rollouts that are neither done nor queued have lost their jobs: Watch then creates the sweep
// again.
func (s *Sweep) Watch(ctx context.Context, progress func(*orchestratorv1.SweepProgress), handle func(*busv1.Result) error) error {
	return Watch(ctx, s.orchestrator, s.ID(), func(now *orchestratorv1.SweepProgress) error {
		if progress != nil {
			progress(now)
		}
		if !now.GetCounted() || now.GetDone()+now.GetRunning()+now.GetQueued()+now.GetScoring()+now.GetRetrying() >= now.GetTotal() {
			return nil
		}
		_, _, err := s.create(ctx)
		return err
	}, handle)
}

// Select has creations of the sweep queue only these rollouts, by their numbers in the plan.
func (s *Sweep) Select(rollouts []int) {
	s.request.Rollouts = &orchestratorv1.RolloutSelection{}
	for _, n := range rollouts {
		s.request.Rollouts.Numbers = append(s.request.Rollouts.Numbers, int32(n))
	}
}

// Queue queues rollouts of the created sweep, by their numbers in the plan.
func (s *Sweep) Queue(ctx context.Context, rollouts []int) error {
	s.Select(rollouts)
	_, _, err := s.create(ctx)
	return err
}

// errComplete means that a watch got all results that it waits for.
var errComplete = errors.New("all awaited results are there")

// Await is Watch until the rollouts with these ids have a result. It calls handle also for results
// of others.
func (s *Sweep) Await(ctx context.Context, ids map[string]bool, progress func(*orchestratorv1.SweepProgress), handle func(*busv1.Result) error) error {
	waiting := maps.Clone(ids)
	if len(waiting) == 0 {
		return nil
	}
	err := Watch(ctx, s.orchestrator, s.ID(), func(now *orchestratorv1.SweepProgress) error {
		if progress != nil {
			progress(now)
		}
		if !now.GetCounted() || now.GetRunning()+now.GetQueued()+now.GetScoring()+now.GetRetrying() >= int64(len(waiting)) {
			return nil
		}
		_, _, err := s.create(ctx)
		return err
	}, func(result *busv1.Result) error {
		if err := handle(result); err != nil {
			return err
		}
		if delete(waiting, result.GetRollout().GetId()); len(waiting) == 0 {
			return errComplete
		}
		return nil
	})
	if errors.Is(err, errComplete) {
		return nil
	}
	return err
}

// errEnded means that a watch got its last event.
var errEnded = errors.New("the sweep has ended")

// Watch follows a sweep by its id as Sweep.Watch does. It calls progress, unless that is nil, at
// the start, after a reconnect, and whenever no result came for a while. A reconnect delivers all
// results again: handle is called only with the new ones.
func Watch(
	ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, id string,
	progress func(*orchestratorv1.SweepProgress) error, handle func(*busv1.Result) error,
) error {
	seen := make(map[string]bool)
	var end *orchestratorv1.SweepEnd
	err := rpc.Follow(ctx, func(ctx context.Context) (grpc.ServerStreamingClient[orchestratorv1.WatchSweepResponse], error) {
		return orchestrator.WatchSweep(ctx, &orchestratorv1.WatchSweepRequest{SweepId: id})
	}, nil, func(event *orchestratorv1.WatchSweepResponse) error {
		switch {
		case event.GetEnd() != nil:
			end = event.GetEnd()
			return errEnded
		case event.GetProgress() != nil && progress != nil:
			return progress(event.GetProgress())
		case event.GetResult() != nil && !seen[event.GetResult().GetRollout().GetId()]:
			seen[event.GetResult().GetRollout().GetId()] = true
			return handle(event.GetResult())
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return errors.New("watch sweep: the stream ended before the sweep")
	case !errors.Is(err, errEnded):
		if _, ok := status.FromError(err); ok {
			err = WrapStatus("watch sweep", err)
		}
		return err
	case end.GetCancelled():
		return process.ErrCancelled
	case end.GetExhausted() != "":
		return &SpendLimitError{Reason: end.GetExhausted()}
	}
	return nil
}

// Trajectory returns the trajectory of one rollout.
func (s *Sweep) Trajectory(ctx context.Context, rolloutID string) (*orchestratorv1.GetTrajectoryResponse, error) {
	trajectory, err := s.orchestrator.GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: rolloutID})
	if err != nil {
		return nil, WrapStatus("read trajectory "+rolloutID, err)
	}
	return trajectory, nil
}

// callError is a gRPC error in words for people that keeps its code.
type callError struct {
	operation string
	status    *status.Status
}

func (e *callError) Error() string              { return e.operation + ": " + e.status.Message() }
func (e *callError) GRPCStatus() *status.Status { return e.status }

// WrapStatus names the operation of a gRPC error in words for people. The code stays.
func WrapStatus(operation string, err error) error {
	return &callError{operation: operation, status: status.Convert(err)}
}
