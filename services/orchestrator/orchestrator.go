// Package orchestrator expands sweeps into rollouts and plays them. It owns the job queue and the
// turn rule. All messages are in the log before a player outside the program is asked.
package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/worker"
)

// Run serves OrchestratorService and plays rollouts, if cfg allows any, until ctx is done. Then it
// finishes the turns in flight and releases their rollouts to the queue. The next worker continues
// at the next message.
func Run(ctx context.Context, cfg Config, node rpc.Network, stores bus.Orchestrator) error {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("orchestrator: %w", err)
	}
	sessions := func(sessionID string) toolhostv1.ToolHostServiceClient {
		return toolhostv1.NewToolHostServiceClient(node.ToolHost(sessionID))
	}
	player := worker.New(worker.Config{
		Name:               cfg.Name,
		Parallel:           cfg.Parallel,
		Lease:              cfg.Lease,
		RespondTimeout:     cfg.RespondTimeout,
		ExecuteTimeout:     cfg.ExecuteTimeout,
		ConversationMemory: cfg.ConversationMemory,
		Attempts:           cfg.Attempts,
		ResultTimeout:      cfg.ResultTimeout,
	}, worker.Peers{
		Bus:      stores,
		Agents:   agentgwv1.NewAgentGatewayServiceClient(node.Conn(rpc.AgentGateway)),
		ToolHost: sessions,
		Trace:    node.Telemetry().Rollout,
		Drain:    node.Drain,
		Logger:   node.Logger(rpc.Orchestrator),
	})
	service, err := newService(node, stores, ctx.Done())
	if err != nil {
		return fmt.Errorf("orchestrator: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	var errs [3]error
	if cfg.Parallel > 0 {
		group.Go(func() {
			defer stop()
			errs[0] = player.Run(ctx)
		})
	}
	group.Go(func() {
		defer stop()
		errs[1] = node.Serve(ctx, rpc.Orchestrator, func(registrar grpc.ServiceRegistrar) {
			orchestratorv1.RegisterOrchestratorServiceServer(registrar, service)
			agentgwv1.RegisterPlayerCheckServiceServer(registrar, playerCheck{gateway: service.players})
		})
	})
	group.Go(func() {
		defer stop()
		errs[2] = service.lead(ctx, node)
	})
	group.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("orchestrator: %w", err)
	}
	return nil
}

// lead does what one orchestrator does for its installation, until ctx is done: it removes old
// sweeps, and exports gauges if this process has metrics.
func (s *server) lead(ctx context.Context, node rpc.Network) (err error) {
	replicas, err := s.bus.Join("orchestrator", uuid.NewString())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, replicas.Leave()) }()
	var retaining sync.WaitGroup
	defer retaining.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	retaining.Go(func() { s.retain(ctx, replicas) })
	if node.Telemetry().Measures() {
		return exportGauges(ctx, s.bus, replicas, otel.Meter("orchestrator"), s.logger)
	}
	<-ctx.Done()
	return nil
}

func newService(node rpc.Network, stores bus.Orchestrator, done <-chan struct{}) (*server, error) {
	spendings, err := newSpendings()
	if err != nil {
		return nil, err
	}
	return &server{
		bus:          stores,
		eachToolHost: node.EachToolHost,
		spendings:    spendings,
		tools:        toolhostv1.NewToolHostServiceClient(node.Conn(rpc.ToolHost)),
		players:      agentgwv1.NewPlayerCheckServiceClient(node.Conn(rpc.AgentGateway)),
		done:         done,
		logger:       node.Logger(rpc.Orchestrator),
		traces:       node.Telemetry(),

		progressInterval: progressInterval,
	}, nil
}
