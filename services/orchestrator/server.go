package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/plan"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

const (
	// progressInterval is the default of server.progressInterval.
	progressInterval = 5 * time.Second
	// backlogTimeout bounds counting the backlog. A watch whose backlog cannot be counted has lost
	// NATS and reports that.
	backlogTimeout = 3 * time.Second
)

// errUnknownTool: a setup names a tool that the tool host does not have.
var errUnknownTool = errors.New("unknown tool")

// errFork: a sweep cannot fork its rollouts.
var errFork = errors.New("fork")

// errTooLarge: a sweep has too many rollouts.
var errTooLarge = errors.New("too many rollouts")

// errUnknownRollout: a rollout is not of the sweep.
var errUnknownRollout = errors.New("unknown rollout")

// MaxRollouts is the maximum number of rollouts of a sweep. An orchestrator has all of them in
// memory while it queues some.
const MaxRollouts = 500_000

// server implements OrchestratorService.
type server struct {
	orchestratorv1.UnimplementedOrchestratorServiceServer
	bus   bus.Orchestrator
	tools toolhostv1.ToolHostServiceClient
	// players checks players at the agent gateway.
	players agentgwv1.PlayerCheckServiceClient
	// eachToolHost calls visit with a connection to each live tool host.
	eachToolHost func(ctx context.Context, visit func(grpc.ClientConnInterface) error) error
	spendings    *spendings
	done         <-chan struct{} // closed when the process stops
	logger       *slog.Logger
	traces       *telemetry.Telemetry
	// progressInterval is how long a watch waits for a result before it sends progress, and the
	// interval of further progress.
	progressInterval time.Duration
}

// statusOf maps errors to gRPC codes.
func statusOf(err error) error {
	return rpc.ErrorCodes{
		{Err: bus.ErrNotFound, Code: codes.NotFound},
		{Err: bus.ErrUnavailable, Code: codes.Unavailable},
		{Err: bus.ErrExists, Code: codes.AlreadyExists},
		{Err: bus.ErrDeleted, Code: codes.NotFound},
		{Err: errOpen, Code: codes.FailedPrecondition},
		{Err: errEnding, Code: codes.Unavailable},
		{Err: errLowerLimit, Code: codes.FailedPrecondition},
		{Err: errUnusable, Code: codes.FailedPrecondition},
		{Err: errUnknownTool, Code: codes.InvalidArgument},
		{Err: errFork, Code: codes.InvalidArgument},
		{Err: errTooLarge, Code: codes.InvalidArgument},
		{Err: errUnknownRollout, Code: codes.InvalidArgument},
		{Err: errNotGranted, Code: codes.PermissionDenied},
		{Err: errBudget, Code: codes.ResourceExhausted},
		{Err: rollout.ErrLog, Code: codes.DataLoss},
		{Err: bus.ErrDamaged, Code: codes.DataLoss},
		{Err: bus.ErrForeign, Code: codes.DataLoss},
	}.Status(err)
}

// CreateSweep implements OrchestratorService.
func (s *server) CreateSweep(ctx context.Context, req *orchestratorv1.CreateSweepRequest) (*orchestratorv1.CreateSweepResponse, error) {
	began := time.Now()
	total, done, err := s.createSweep(ctx, req)
	if err != nil {
		return nil, statusOf(err)
	}
	s.traceSweep(ctx, req, began, total-done)
	return &orchestratorv1.CreateSweepResponse{Total: int64(total), Done: int64(done)}, nil
}

// traceSweep records the span of a round of a sweep, to which the traces of its rollouts link.
func (s *server) traceSweep(ctx context.Context, req *orchestratorv1.CreateSweepRequest, began time.Time, queued int) {
	id, round := req.GetSweepId(), req.GetRound()
	if queued == 0 || !s.traces.Enabled() {
		return
	}
	s.traces.RecordRoot(ctx, telemetry.SweepSpan(id, round), telemetry.Root{
		Name: "create_sweep", Start: began, End: time.Now(),
		Attributes: []attribute.KeyValue{telemetry.SweepID.String(id), telemetry.Round.Int(int(round)), telemetry.Rollouts.Int(queued)},
	})
}

func (s *server) createSweep(ctx context.Context, req *orchestratorv1.CreateSweepRequest) (total, done int, err error) {
	id, spec := req.GetSweepId(), req.GetSpec()
	if err := errors.Join(checkGrant(ctx, spec), checkFork(spec), checkSize(spec), checkDamaged(req)); err != nil {
		return 0, 0, err
	}
	if err := s.checkTools(ctx, spec); err != nil {
		return 0, 0, err
	}
	sweep := &busv1.Sweep{ // without parallel, which may change
		Id:     id,
		Agents: spec.GetAgents(),
		Users:  spec.GetUsers(),
		Trials: spec.GetTrials(),
		Seed:   spec.GetSeed(),
		Compat: spec.GetCompat(),

		HostedServices: spec.GetHostedServices(),
		Replay:         spec.GetReplay(),
		MaxBytes:       cmp.Or(spec.GetMaxBytes(), rollout.DefaultMaxBytes),
		RepeatLimit:    spec.GetRepeatLimit(),
		Fork:           spec.GetFork(),
	}
	if spec.RepeatLimit == nil && !spec.GetCompat() {
		sweep.RepeatLimit = rollout.DefaultRepeatLimit
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
	foreign, err := s.bus.RemoveForeign(ctx, id)
	for _, document := range foreign {
		s.logger.Warn("foreign document removed", "sweep", id, "document", document)
	}
	if err != nil {
		return 0, 0, err
	}
	if sweep.Team, err = s.claim(ctx, id); err != nil {
		return 0, 0, err
	}
	if err := s.putSweep(ctx, sweep, req); err != nil {
		return 0, 0, err
	}
	rollouts := plan.Expand(sweep)
	missing, err := s.queueUnscored(ctx, id, rollouts, req.GetRound(), req.GetDamaged())
	if err != nil {
		return 0, 0, err
	}
	if err := s.bus.Enqueue(ctx, selected(missing, rollouts, req.GetRollouts())); err != nil {
		return 0, 0, err
	}
	return len(rollouts), len(rollouts) - len(missing), nil
}

// checkFork rejects a fork of several scenarios: it continues one rollout.
func checkFork(spec *orchestratorv1.SweepSpec) error {
	if n := len(spec.GetScenarios()); spec.GetFork() != nil && n != 1 {
		return fmt.Errorf("%w: %d scenarios given, expected the one of rollout %s", errFork, n, spec.GetFork().GetOrigin())
	}
	return nil
}

// checkSize rejects a sweep with more rollouts than MaxRollouts.
func checkSize(spec *orchestratorv1.SweepSpec) error {
	if n := plan.Size(sizeOf("", spec)); n > MaxRollouts {
		return fmt.Errorf("%w: %d given, expected at most %d: split the sweep", errTooLarge, n, MaxRollouts)
	}
	return nil
}

// checkDamaged rejects rollouts of another sweep, and what is no id.
func checkDamaged(req *orchestratorv1.CreateSweepRequest) error {
	sweep := sizeOf(req.GetSweepId(), req.GetSpec())
	for _, id := range req.GetDamaged() {
		if !plan.Has(sweep, id) {
			return fmt.Errorf("%w: damaged: %q given, expected rollouts of %s", errUnknownRollout, id, req.GetSweepId())
		}
	}
	return nil
}

// sizeOf returns a sweep with what its size depends on.
func sizeOf(id string, spec *orchestratorv1.SweepSpec) *busv1.Sweep {
	return &busv1.Sweep{
		Id: id, Scenarios: make([]*busv1.SweepScenario, len(spec.GetScenarios())), Agents: spec.GetAgents(), Users: spec.GetUsers(), Trials: spec.GetTrials(),
	}
}

// selected returns the jobs of selected rollouts of a plan, all without a selection.
func selected(jobs []*busv1.Job, plan []*busv1.Rollout, selection *orchestratorv1.RolloutSelection) []*busv1.Job {
	if selection == nil {
		return jobs
	}
	ids := make(map[string]bool)
	for _, n := range selection.GetNumbers() {
		if int(n) < len(plan) {
			ids[plan[n].GetId()] = true
		}
	}
	return slices.DeleteFunc(jobs, func(job *busv1.Job) bool { return !ids[job.GetRollout().GetId()] })
}

// putSweep stores a sweep and its limits, if they fit into the budgets of the caller's team.
func (s *server) putSweep(ctx context.Context, sweep *busv1.Sweep, req *orchestratorv1.CreateSweepRequest) error {
	id, check := sweep.GetId(), s.budgetCheck(ctx, sweep.GetId())
	created := bus.Creation{
		Team: sweep.GetTeam(), Rollouts: int64(plan.Size(sweep)),
		SpendLimit: req.GetSpendLimit(), Parallel: parallel(ctx, req.GetSpec()), Round: req.GetRound(),
	}
	if check != nil { // before the plan is stored, too
		control, err := s.bus.Control(ctx, id)
		if err == nil && created.Apply(control) {
			err = check(control)
		}
		if err != nil {
			return err
		}
	}
	if err := s.bus.PutSweep(ctx, sweep); err != nil {
		return err
	}
	return s.bus.UpdateControlIf(ctx, id, created.Apply, check)
}

// checkTools rejects setups that name tools which the tool host does not have.
func (s *server) checkTools(ctx context.Context, spec *orchestratorv1.SweepSpec) error {
	var available map[string]bool
	last := &toolhostv1.ListToolsRequest{}
	for _, scenario := range spec.GetScenarios() {
		setup := scenario.GetSetup()
		request := &toolhostv1.ListToolsRequest{
			ToolModules: setup.GetToolModules(), ToolBackend: setup.GetToolBackend(), Schema: setup.GetSchema(),
			ToolServers: setup.GetToolServers(),
		}
		if available == nil || !proto.Equal(request, last) {
			list, err := s.tools.ListTools(ctx, request)
			if err != nil {
				return fmt.Errorf("scenario %s: list tools: %w", setup.GetName(), err)
			}
			available, last = make(map[string]bool), request
			for _, info := range list.GetTools() {
				available[info.GetTool().GetExecutionName()] = true
			}
		}
		selection := setup.GetTools()
		names := slices.Concat(selection.GetAllow(), selection.GetDeny(), selection.GetUser())
		for _, text := range selection.GetDescriptions() {
			names = append(names, text.GetTool())
		}
		for _, name := range names {
			if !available[name] {
				return fmt.Errorf("scenario %s: %w %q", setup.GetName(), errUnknownTool, name)
			}
		}
	}
	return nil
}
