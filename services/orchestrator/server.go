package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/plan"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

const (
	// silence is server.silence of a process.
	silence = 5 * time.Second
	// backlogTimeout bounds counting what is still to come. A watch that cannot be told has lost NATS, and has to know.
	backlogTimeout = 3 * time.Second
)

// errUnknownTool says that a setup names a tool that the tool host does not have.
var errUnknownTool = errors.New("unknown tool")

// server implements OrchestratorService.
type server struct {
	orchestratorv1.UnimplementedOrchestratorServiceServer
	bus   *bus.Bus
	tools toolhostv1.ToolHostServiceClient
	done  <-chan struct{} // closed when the process stops
	// silence is how long a watch gets no result before it is told what is still to come, and how often it is told.
	silence time.Duration
}

// statusOf maps what the logic returns to gRPC codes.
func statusOf(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bus.ErrNotFound):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, bus.ErrAway):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, bus.ErrExists):
		return status.Error(codes.AlreadyExists, err.Error())
	case errors.Is(err, errUnknownTool):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, rollout.ErrLog), errors.Is(err, bus.ErrDamaged):
		return status.Error(codes.DataLoss, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Internal, err.Error())
}

// CreateSweep implements OrchestratorService.
func (s *server) CreateSweep(ctx context.Context, req *orchestratorv1.CreateSweepRequest) (*orchestratorv1.CreateSweepResponse, error) {
	total, done, err := s.createSweep(ctx, req)
	if err != nil {
		return nil, statusOf(err)
	}
	return &orchestratorv1.CreateSweepResponse{Total: int64(total), Done: int64(done)}, nil
}

func (s *server) createSweep(ctx context.Context, req *orchestratorv1.CreateSweepRequest) (total, done int, err error) {
	id, spec := req.GetSweepId(), req.GetSpec()
	if err := s.checkTools(ctx, spec); err != nil {
		return 0, 0, err
	}
	sweep := &busv1.Sweep{ // without parallel: a sweep goes on with another number
		Id:     id,
		Agents: spec.GetAgents(),
		Users:  spec.GetUsers(),
		Trials: spec.GetTrials(),
		Seed:   spec.GetSeed(),
		Compat: spec.GetCompat(),

		HostedServices: spec.GetHostedServices(),
		Replay:         spec.GetReplay(),
		MaxBytes:       cmp.Or(spec.GetMaxBytes(), rollout.DefaultMaxBytes),
	}
	for _, scenario := range spec.GetScenarios() {
		digest, err := s.bus.PutSetup(ctx, scenario.GetSetup())
		if err != nil {
			return 0, 0, err
		}
		sweep.Scenarios = append(sweep.Scenarios, &busv1.SweepScenario{
			Name:             scenario.GetSetup().GetName(),
			SetupDigest:      digest,
			EvaluationDigest: scenario.GetEvaluationDigest(),
		})
	}
	if err := s.bus.PutSweep(ctx, sweep); err != nil {
		return 0, 0, err
	}
	if err := s.limit(ctx, id, req.GetSpendLimit()); err != nil {
		return 0, 0, err
	}
	if err := s.bus.SetParallel(ctx, id, spec.GetParallel(), req.GetRound()); err != nil {
		return 0, 0, err
	}
	rollouts := plan.Expand(sweep)
	missing, err := s.missing(ctx, id, rollouts, req.GetRound(), req.GetDamaged())
	if err != nil {
		return 0, 0, err
	}
	for _, job := range missing {
		job.Parallel = spec.GetParallel()
	}
	if err := s.bus.Enqueue(ctx, missing); err != nil {
		return 0, 0, err
	}
	return len(rollouts), len(rollouts) - len(missing), nil
}

// checkTools refuses setups that name tools which the tool host does not have.
func (s *server) checkTools(ctx context.Context, spec *orchestratorv1.SweepSpec) error {
	list, err := s.tools.ListTools(ctx, &toolhostv1.ListToolsRequest{})
	if err != nil {
		return fmt.Errorf("list tools: %w", err)
	}
	known := make(map[string]bool)
	for _, info := range list.GetTools() {
		known[info.GetTool().GetExecutionName()] = true
	}
	for _, scenario := range spec.GetScenarios() {
		selection := scenario.GetSetup().GetTools()
		names := slices.Concat(selection.GetAllow(), selection.GetDeny(), selection.GetUser())
		for _, text := range selection.GetDescriptions() {
			names = append(names, text.GetTool())
		}
		for _, name := range names {
			if !known[name] {
				return fmt.Errorf("scenario %s: %w %q", scenario.GetSetup().GetName(), errUnknownTool, name)
			}
		}
	}
	return nil
}

// WatchSweep implements OrchestratorService.
func (s *server) WatchSweep(req *orchestratorv1.WatchSweepRequest, stream orchestratorv1.OrchestratorService_WatchSweepServer) error {
	ctx, stop := context.WithCancel(stream.Context())
	defer stop()
	sweep, err := s.bus.Sweep(ctx, req.GetSweepId())
	if err != nil {
		return statusOf(err)
	}
	rounds, err := s.bus.Rounds(ctx, sweep.GetId())
	if err != nil {
		return statusOf(err)
	}
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	results := make(chan *busv1.Result)
	cancelled := make(chan struct{}, 1)
	spent := make(chan string, 1)
	failed := make(chan error, 3)
	group.Go(func() {
		failed <- s.bus.FollowResults(ctx, sweep.GetId(), func(_ context.Context, result *busv1.Result) error {
			if result.GetRound() != rounds.OfID(result.GetRollout().GetId()) {
				return nil
			}
			select {
			case results <- result:
			case <-ctx.Done():
			}
			return nil
		})
	})
	group.Go(func() {
		failed <- s.bus.FollowCancellations(ctx, func(sweepID string, round int32) {
			if sweepID == sweep.GetId() && round >= rounds.Last() {
				select {
				case cancelled <- struct{}{}:
				default: // it is known
				}
			}
		})
	})
	group.Go(func() {
		reason, err := s.spent(ctx, sweep.GetId())
		if err != nil && ctx.Err() == nil {
			failed <- err
		}
		spent <- reason
	})
	return statusOf(s.relay(ctx, sweep, happenings{rounds, results, cancelled, spent, failed}, stream))
}

// happenings are what a watch waits for.
type happenings struct {
	rounds    bus.Rounds // as the watch began: their results count
	results   <-chan *busv1.Result
	cancelled <-chan struct{}
	spent     <-chan string // once
	failed    <-chan error
}

// relay sends events until the sweep is over.
func (s *server) relay(ctx context.Context, sweep *busv1.Sweep, on happenings, stream orchestratorv1.OrchestratorService_WatchSweepServer) error {
	total := int64(plan.Size(sweep))
	progress := &orchestratorv1.SweepProgress{Total: total}
	count := func() (err error) {
		progress.Done, err = s.finished(ctx, sweep.GetId(), on.rounds)
		return err
	}
	if err := count(); err != nil {
		return err
	}
	tell := func() error {
		return stream.Send(&orchestratorv1.WatchSweepResponse{Event: &orchestratorv1.WatchSweepResponse_Progress{Progress: progress}})
	}
	if err := tell(); err != nil {
		return err
	}
	quiet := time.NewTicker(s.silence)
	defer quiet.Stop()
	// What was there before the watch began is sent even if the sweep is cancelled.
	seen, stop, end := int64(0), false, &orchestratorv1.SweepEnd{}
	for seen < total && !(stop && seen >= progress.GetDone()) {
		select {
		case result := <-on.results:
			seen++
			end.Cancelled = end.GetCancelled() || result.GetEnd().GetReason() == busv1.EndReason_END_REASON_CANCELLED
			if err := stream.Send(&orchestratorv1.WatchSweepResponse{Event: &orchestratorv1.WatchSweepResponse_Result{Result: result}}); err != nil {
				return err
			}
			quiet.Reset(s.silence)
		case <-quiet.C:
			if err := s.backlog(ctx, sweep.GetId(), progress); err != nil {
				return err
			}
			if err := count(); err != nil {
				return err
			}
			if err := tell(); err != nil {
				return err
			}
		case <-on.cancelled:
			stop = true
		case end.Spent = <-on.spent:
			if end.GetSpent() == "" {
				break
			}
			stop = true
			if err := count(); err != nil {
				return err
			}
		case err := <-on.failed:
			return errors.Join(err, ctx.Err())
		case <-s.done:
			return status.Error(codes.Unavailable, "the orchestrator is stopping")
		}
	}
	if seen == total {
		end.Spent = ""
	}
	end.Cancelled = end.GetCancelled() || seen < total && end.GetSpent() == ""
	return stream.Send(&orchestratorv1.WatchSweepResponse{Event: &orchestratorv1.WatchSweepResponse_End{End: end}})
}

// backlog adds to a sweep's progress what becomes of the rollouts that have no result.
func (s *server) backlog(ctx context.Context, sweepID string, progress *orchestratorv1.SweepProgress) error {
	ctx, cancel := context.WithTimeout(ctx, backlogTimeout)
	defer cancel()
	playing, queued, err := s.bus.Backlog(ctx, sweepID)
	progress.Playing, progress.Queued, progress.Counted = int64(playing), int64(queued), err == nil
	return err
}
