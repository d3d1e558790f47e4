// Package sweep runs a sweep on an installation: it stores the evaluations, creates the sweep and follows it to its
// end, through restarts of the services.
package sweep

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

const (
	// callTimeout bounds one unary call; it covers the restart of a service.
	callTimeout = time.Minute
	// evaluationBatch is how many evaluations travel in one request.
	evaluationBatch = 500
	// reconnectDelay is the pause after a lost watch.
	reconnectDelay = 200 * time.Millisecond
	// digestLength is how many digits of the specification's digest make a derived id.
	digestLength = 16
	// runSeparator stands before the number of a derived id.
	runSeparator = "-"
)

// ErrRanBefore says that the sweep has results from an earlier run.
var ErrRanBefore = errors.New("this sweep has results already")

// ErrCancelled says that somebody cancelled the sweep.
var ErrCancelled = errors.New("the sweep was cancelled")

// SpentError says that the sweep has spent what it may. It goes on when it is created with a higher limit.
type SpentError struct {
	// Reason says how much that was.
	Reason string
}

// Error returns the reason.
func (e *SpentError) Error() string { return e.Reason }

// Spec is what is to be run.
type Spec struct {
	// ID names the sweep; empty derives it from everything else, so that the same specification has the same id.
	ID        string
	Scenarios []*scenariov1.Scenario
	Agents    []*agentgwv1.Player
	Users     []*agentgwv1.Player
	Trials    int
	Seed      int64
	// Parallel is how many rollouts of the sweep one process of the orchestrator may run at once; 0 leaves it to the process. It is no part
	// of what is to be run.
	Parallel int
	Compat   bool
	// MaxBytes is the byte limit of a rollout's messages; 0 leaves it to the orchestrator.
	MaxBytes int64
	// Services says what answers the requests of tools to hosted services.
	Services toolhostv1.HostedServices
	// Limit is what models may spend in all, nil if there is no limit. It is no part of what is to be run.
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
		bounded, cancel := context.WithTimeout(ctx, callTimeout)
		response, err := client.PutEvaluations(bounded, request)
		cancel()
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

// Create creates the sweep and returns how many rollouts it has. A sweep that has results already is ErrRanBefore if its id
// was given; a derived id then gets a number, so that the same specification can run again on the same installation.
func (s *Sweep) Create(ctx context.Context) (total int, err error) {
	for run := 2; ; run++ {
		// To create it would change what an earlier run may spend, and queue what that left.
		done, err := s.done(ctx)
		if err != nil {
			return 0, err
		}
		if done == 0 {
			if total, done, err = s.create(ctx); err != nil || done == 0 {
				return total, err
			}
		}
		if !s.Derived(s.ID()) {
			return 0, ErrRanBefore
		}
		s.request.SweepId = s.digest + runSeparator + strconv.Itoa(run)
	}
}

// done returns how many results the sweep has as it is called now, 0 if there is none of that id.
func (s *Sweep) done(ctx context.Context) (int, error) {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	stream, err := s.orchestrator.WatchSweep(bounded, &orchestratorv1.WatchSweepRequest{SweepId: s.ID()})
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

// Resume creates what is missing of a sweep that was created before under the id, and returns how many rollouts it has. In the given round,
// unless it has begun, everything is played again that the infrastructure or a cancellation left without a score.
func (s *Sweep) Resume(ctx context.Context, id string, round int32) (total int, err error) {
	s.request.SweepId, s.request.Round = id, round
	total, _, err = s.create(ctx)
	return total, err
}

func (s *Sweep) create(ctx context.Context) (total, done int, err error) {
	if err := s.bring(ctx); err != nil {
		return 0, 0, err
	}
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := s.orchestrator.CreateSweep(bounded, s.request)
	if err != nil {
		return 0, 0, plain("create sweep", err)
	}
	return int(response.GetTotal()), int(response.GetDone()), nil
}

// Watch calls handle once for every result of the sweep, until all are there; ErrCancelled or a *SpentError says why some are not. A lost connection is made again, and the
// sweep is created again in case its queueing was cut off.
func (s *Sweep) Watch(ctx context.Context, handle func(*busv1.Result) error) error {
	seen := make(map[string]bool)
	for {
		err := s.watch(ctx, func(result *busv1.Result) error {
			if id := result.GetRollout().GetId(); !seen[id] {
				seen[id] = true
				return handle(result)
			}
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !lost(err) {
			return err
		}
		timer := time.NewTimer(reconnectDelay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		if _, _, err := s.create(ctx); err != nil && !lost(err) {
			return err
		}
	}
}

func (s *Sweep) watch(ctx context.Context, handle func(*busv1.Result) error) error {
	stream, err := s.orchestrator.WatchSweep(ctx, &orchestratorv1.WatchSweepRequest{SweepId: s.ID()})
	if err != nil {
		return plain("watch sweep", err)
	}
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return plain("watch sweep", status.Error(codes.Unavailable, "the stream ended early"))
		}
		if err != nil {
			return plain("watch sweep", err)
		}
		if end := event.GetEnd(); end != nil {
			if end.GetCancelled() {
				return ErrCancelled
			}
			if reason := end.GetSpent(); reason != "" {
				return &SpentError{Reason: reason}
			}
			return nil
		}
		if result := event.GetResult(); result != nil {
			if err := handle(result); err != nil {
				return err
			}
		}
	}
}

// Trajectory returns everything that happened in one rollout.
func (s *Sweep) Trajectory(ctx context.Context, rolloutID string) (*orchestratorv1.GetTrajectoryResponse, error) {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	trajectory, err := s.orchestrator.GetTrajectory(bounded, &orchestratorv1.GetTrajectoryRequest{RolloutId: rolloutID})
	if err != nil {
		return nil, plain("read trajectory "+rolloutID, err)
	}
	return trajectory, nil
}

// lost says whether a call failed because a service was away for a moment.
func lost(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
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
