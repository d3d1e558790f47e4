// Package sweep runs a sweep on an installation: it stores the evaluations, creates the sweep and
// follows it to its end, through restarts of the services.
package sweep

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

const (
	// evaluationBatch is how many evaluations travel in one request.
	evaluationBatch = 500
	// digestLength is how many digits of the specification's digest make a derived id.
	digestLength = 16
	// runSeparator stands before the number of a derived id.
	runSeparator = "-"
)

// ErrRanBefore says that the sweep has results from an earlier run.
var ErrRanBefore = errors.New("this sweep has results")

// ErrCancelled says that somebody cancelled the sweep.
var ErrCancelled = errors.New("the sweep was cancelled")

// SpentError says that the sweep has spent what it may. It goes on when it is created with a higher
// limit.
type SpentError struct {
	// Reason says how much that was.
	Reason string
}

// Error returns the reason.
func (e *SpentError) Error() string { return e.Reason }

// Spec is what is to be run.
type Spec struct {
	// ID names the sweep; empty derives it from everything else, so that the same specification has
	// the same id.
	ID        string
	Scenarios []*scenariov1.Scenario
	Agents    []*agentgwv1.Player
	Users     []*agentgwv1.Player
	Trials    int
	Seed      int64
	// Parallel is how many rollouts of the sweep one process of the orchestrator may run at once; 0
	// leaves it to the process. It is no part of what is to be run.
	Parallel int
	Compat   bool
	// MaxBytes is the byte limit of a rollout's messages; 0 leaves it to the orchestrator.
	MaxBytes int64
	// Services says what answers the requests of tools to hosted services.
	Services toolhostv1.HostedServices
	// Limit is what models may spend in all, nil if there is no limit. It is no part of what is to
	// be run.
	Limit *agentgwv1.SpendLimit
	// Recording, if not nil, is played again: nothing outside is asked.
	Recording Recording
}

// Sweep is a sweep that is ready to be created.
type Sweep struct {
	request      *orchestratorv1.CreateSweepRequest
	digest       string
	orchestrator orchestratorv1.OrchestratorServiceClient
	recording    Recording
	// brought is the id under which the recording is stored.
	brought string
}

// Prepare stores the evaluations and derives the request.
func Prepare(ctx context.Context, orchestrator, evaluator grpc.ClientConnInterface, spec Spec) (*Sweep, error) {
	digests, err := putEvaluations(ctx, evaluatorv1.NewEvaluatorServiceClient(evaluator), spec.Scenarios)
	if err != nil {
		return nil, err
	}
	request := &orchestratorv1.CreateSweepRequest{SweepId: spec.ID, SpendLimit: spec.Limit, Spec: &orchestratorv1.SweepSpec{
		Agents: spec.Agents,
		Users:  spec.Users,
		Trials: int32(spec.Trials),
		Seed:   spec.Seed,
		Compat: spec.Compat,

		MaxBytes:       spec.MaxBytes,
		HostedServices: spec.Services,
		Replay:         spec.Recording != nil,
	}}
	for i, scenario := range spec.Scenarios {
		request.Spec.Scenarios = append(request.Spec.Scenarios,
			&orchestratorv1.SweepScenario{Setup: scenario.GetSetup(), EvaluationDigest: digests[i]})
	}
	digest, _, err := bus.Digest(request.GetSpec())
	if err != nil {
		return nil, err
	}
	if spec.Recording != nil {
		digest = replayed(digest, spec.Recording)
	}
	digest = digest[:digestLength]
	request.Spec.Parallel = int32(spec.Parallel) // changes no result: a run goes on with another number
	if request.GetSweepId() == "" {
		request.SweepId = digest
	}
	return &Sweep{
		request: request, digest: digest, orchestrator: orchestratorv1.NewOrchestratorServiceClient(orchestrator), recording: spec.Recording,
	}, nil
}

func putEvaluations(ctx context.Context, client evaluatorv1.EvaluatorServiceClient, scenarios []*scenariov1.Scenario) ([]string, error) {
	var digests []string
	for from := 0; from < len(scenarios); from += evaluationBatch {
		request := &evaluatorv1.PutEvaluationsRequest{}
		for _, scenario := range scenarios[from:min(from+evaluationBatch, len(scenarios))] {
			request.Evaluations = append(request.Evaluations,
				&evaluatorv1.NamedEvaluation{Scenario: scenario.GetSetup().GetName(), Evaluation: scenario.GetEvaluation()})
		}
		response, err := client.PutEvaluations(ctx, request)
		if err != nil {
			return nil, plain("store evaluations", err)
		}
		digests = append(digests, response.GetDigests()...)
	}
	return digests, nil
}

// ID returns the sweep's id.
func (s *Sweep) ID() string { return s.request.GetSweepId() }

// Derived says whether an id was derived from this specification.
func (s *Sweep) Derived(id string) bool {
	base, _, _ := strings.Cut(id, runSeparator)
	return base == s.digest
}

// Create creates the sweep and returns how many rollouts it has. A sweep that has results already
// is ErrRanBefore if its id was given; a derived id then gets a number, so that the same
// specification can run again on the same installation.
func (s *Sweep) Create(ctx context.Context) (total int, err error) {
	for run := 2; ; run++ {
		// To create it would change what an earlier run may spend, and queue what that left.
		done, err := s.done(ctx)
		if err != nil {
			return 0, err
		}
		if done == 0 {
			total, _, err = s.create(ctx) // results that there are by now are its own: the request may have been repeated
			return total, err
		}
		if !s.Derived(s.ID()) {
			return 0, ErrRanBefore
		}
		s.request.SweepId = s.digest + runSeparator + strconv.Itoa(run)
	}
}

// done returns how many results the sweep has as it is called now, 0 if there is none of that id.
func (s *Sweep) done(ctx context.Context) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.orchestrator.WatchSweep(ctx, &orchestratorv1.WatchSweepRequest{SweepId: s.ID()})
	if err != nil {
		return 0, plain("look for earlier runs", err)
	}
	event, err := stream.Recv() // progress comes first
	if status.Code(err) == codes.NotFound {
		return 0, nil
	}
	if err != nil {
		return 0, plain("look for earlier runs", err)
	}
	return int(event.GetProgress().GetDone()), nil
}

// Resume creates what is missing of a sweep that was created before under the id, and returns how
// many rollouts it has and how many of them are done. In the given round, unless it has begun,
// everything is played again that the infrastructure or a cancellation left without a score, and
// what still cannot be read of the damaged rollouts.
func (s *Sweep) Resume(ctx context.Context, id string, round int32, damaged []string) (total, done int, err error) {
	s.request.SweepId, s.request.Round, s.request.Damaged = id, round, damaged
	return s.create(ctx)
}

func (s *Sweep) create(ctx context.Context) (total, done int, err error) {
	if err := s.bring(ctx); err != nil {
		return 0, 0, err
	}
	response, err := s.orchestrator.CreateSweep(ctx, s.request)
	if err != nil {
		return 0, 0, plain("create sweep", err)
	}
	return int(response.GetTotal()), int(response.GetDone()), nil
}

// Watch calls handle once for every result of the sweep, until all are there; ErrCancelled or a
// *SpentError says why some are not. It calls progress as the function Watch does. Rollouts that
// are neither done nor queued have lost their jobs: the sweep is created again then.
func (s *Sweep) Watch(ctx context.Context, progress func(*orchestratorv1.SweepProgress), handle func(*busv1.Result) error) error {
	return Watch(ctx, s.orchestrator, s.ID(), func(now *orchestratorv1.SweepProgress) error {
		if progress != nil {
			progress(now)
		}
		if !now.GetCounted() || now.GetDone()+now.GetPlaying()+now.GetQueued() >= now.GetTotal() {
			return nil
		}
		_, _, err := s.create(ctx)
		return err
	}, handle)
}

// errEnded says that a watch has got its last event.
var errEnded = errors.New("the sweep has ended")

// Watch follows a sweep by its id as Sweep.Watch does. It calls progress, unless that is nil, when
// it begins, when it begins again because it broke, and whenever there was no result for a while. A
// watch that begins again gets all results again: handle is called with the new ones only.
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
		if _, said := status.FromError(err); said {
			err = plain("watch sweep", err)
		}
		return err
	case end.GetCancelled():
		return ErrCancelled
	case end.GetSpent() != "":
		return &SpentError{Reason: end.GetSpent()}
	}
	return nil
}

// Trajectory returns everything that happened in one rollout.
func (s *Sweep) Trajectory(ctx context.Context, rolloutID string) (*orchestratorv1.GetTrajectoryResponse, error) {
	trajectory, err := s.orchestrator.GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: rolloutID})
	if err != nil {
		return nil, plain("read trajectory "+rolloutID, err)
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

func plain(operation string, err error) error {
	return &callError{operation: operation, status: status.Convert(err)}
}
