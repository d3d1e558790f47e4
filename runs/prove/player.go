package prove

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/parameter"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

const (
	// callTimeout is the timeout of one request.
	callTimeout = time.Minute
	// batch is the number of rollouts in one sweep.
	batch = 256
	// sweeps is the number of concurrent sweeps: one is prepared while the other plays.
	sweeps = 2
)

// Services are the connections for playing rollouts.
type Services struct {
	Orchestrator, Evaluator grpc.ClientConnInterface
	// ToolHost returns the connection to the host of a session.
	ToolHost func(session string) grpc.ClientConnInterface
	// Parallel is the number of concurrent rollouts of a sweep.
	Parallel int
}

// player plays experiments on an installation. It is safe for concurrent use, except tools.
type player struct {
	services Services
	// listed are the tools of the last request.
	listed  map[string]*toolInfo
	request *toolhostv1.ListToolsRequest
}

// play plays experiments to their end and sets their results.
func (p *player) play(ctx context.Context, experiments []*experiment) error {
	var scripted, unhelpful []*experiment
	for _, e := range experiments {
		if e.unhelpful {
			unhelpful = append(unhelpful, e)
		} else {
			scripted = append(scripted, e)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sweeps)
	for _, list := range [][]*experiment{scripted, unhelpful} {
		for chunk := range slices.Chunk(list, batch) {
			group.Go(func() error { return p.sweep(ctx, chunk) })
		}
	}
	return group.Wait()
}

// sweep plays experiments with the same agent in one sweep.
func (p *player) sweep(ctx context.Context, experiments []*experiment) error {
	agent := &agentgwv1.Player{Name: "oracle", Kind: scripted()}
	if experiments[0].unhelpful {
		agent = &agentgwv1.Player{Name: "unhelpful", Kind: &agentgwv1.Player_Unhelpful{Unhelpful: &agentgwv1.Unhelpful{}}}
	}
	spec := sweep.Spec{
		Agents: []*agentgwv1.Player{agent}, Users: []*agentgwv1.Player{{Name: "scripted", Kind: scripted()}},
		Trials: 1, Parallel: p.services.Parallel,
	}
	byName := make(map[string]*experiment, len(experiments))
	for _, e := range experiments {
		spec.Scenarios = append(spec.Scenarios, e.scenario)
		byName[e.scenario.GetSetup().GetName()] = e
	}
	prepared, err := sweep.Prepare(ctx, p.services.Orchestrator, p.services.Evaluator, spec)
	if err != nil {
		return err
	}
	if _, err := prepared.Create(ctx); err != nil {
		return err
	}
	return prepared.Watch(ctx, nil, func(result *busv1.Result) error {
		e := byName[result.GetRollout().GetScenario()]
		if result.GetEnd().GetReason() == busv1.EndReason_END_REASON_INFRASTRUCTURE {
			return fmt.Errorf("rollout %q of %s could not be played: %s", e.name, e.of, result.GetEnd().GetDetail())
		}
		e.result = result
		return nil
	})
}

func scripted() *agentgwv1.Player_Scripted {
	return &agentgwv1.Player_Scripted{Scripted: &agentgwv1.Scripted{Source: agentgwv1.Scripted_SOURCE_SCENARIO}}
}

// trajectory returns the trajectory of an experiment.
func (p *player) trajectory(ctx context.Context, e *experiment) (*orchestratorv1.GetTrajectoryResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	trajectory, err := orchestratorv1.NewOrchestratorServiceClient(p.services.Orchestrator).GetTrajectory(ctx,
		&orchestratorv1.GetTrajectoryRequest{RolloutId: e.result.GetRollout().GetId()})
	if err != nil {
		return nil, fmt.Errorf("read rollout %q: %w", e.name, err)
	}
	return trajectory, nil
}

// explanation explains the score of an experiment.
func (p *player) explanation(ctx context.Context, e *experiment) (*evaluatorv1.ExplainTrajectoryResponse, error) {
	t, err := p.trajectory(ctx, e)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	explained, err := evaluatorv1.NewEvaluatorServiceClient(p.services.Evaluator).ExplainTrajectory(ctx, &evaluatorv1.ExplainTrajectoryRequest{
		Evaluation: e.scenario.GetEvaluation(), Messages: t.GetMessages(), Tables: t.GetTables(),
	})
	if err != nil {
		return nil, fmt.Errorf("explain rollout %q: %w", e.name, err)
	}
	return explained, nil
}

// visibleTools returns the real names of the tools that an experiment's agent saw.
func (p *player) visibleTools(ctx context.Context, e *experiment) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id := e.result.GetRollout().GetId()
	session, err := toolhostv1.NewToolHostServiceClient(p.services.ToolHost(id)).CreateSession(ctx,
		&toolhostv1.CreateSessionRequest{SessionId: id, Setup: e.scenario.GetSetup()})
	if err != nil {
		return nil, fmt.Errorf("read the tools of rollout %q: %w", e.name, err)
	}
	visible := make(map[string]bool)
	for _, tool := range session.GetAgentTools() {
		visible[tool.GetExecutionName()] = true
	}
	return visible, nil
}

// start returns the score of a scenario before the first turn.
func (p *player) start(ctx context.Context, s *scenariov1.Scenario) (*busv1.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := evaluatorv1.NewEvaluatorServiceClient(p.services.Evaluator).ScoreTrajectory(ctx, &evaluatorv1.ScoreTrajectoryRequest{
		Evaluation: s.GetEvaluation(), Messages: s.GetSetup().GetMessages(), Tables: s.GetSetup().GetTables(),
	})
	if err != nil {
		return nil, fmt.Errorf("score the start: %w", err)
	}
	return response.GetResult(), nil
}

// tools describes every tool of a scenario, by its real name.
func (p *player) tools(ctx context.Context, s *scenariov1.Scenario) (map[string]*toolInfo, error) {
	setup := s.GetSetup()
	request := &toolhostv1.ListToolsRequest{
		ToolModules: setup.GetToolModules(), ToolBackend: setup.GetToolBackend(), Schema: setup.GetSchema(), ToolServers: setup.GetToolServers(),
	}
	if p.listed != nil && proto.Equal(request, p.request) {
		return p.listed, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := toolhostv1.NewToolHostServiceClient(p.services.ToolHost("")).ListTools(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	tools := make(map[string]*toolInfo)
	for _, info := range list.GetTools() {
		tool := &toolInfo{tool: info.GetTool(), name: info.GetTool().GetExecutionName(), readOnly: info.GetReadOnly(),
			agent: slices.Contains(info.GetVisibleTo(), worldv1.Role_ROLE_AGENT)}
		if tool.parameters, err = parameter.Read(info.GetTool().GetParametersJson()); err != nil {
			return nil, fmt.Errorf("parameters of tool %s: %w", tool.name, err)
		}
		tools[tool.name] = tool
	}
	p.listed, p.request = tools, request
	return tools, nil
}
