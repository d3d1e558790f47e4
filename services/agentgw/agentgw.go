// Package agentgw is the agent gateway. It turns a role's view of the conversation into that role's
// next messages, whoever plays the role.
package agentgw

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/google/uuid"
	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"
)

// Run serves the gateway at the node until ctx is done, drains, and then returns nil. It records
// turns that cannot be computed again on the bus. The replica that owns a model's key plays that
// model's turns.
func Run(ctx context.Context, cfg Config, node rpc.Network, stores bus.AgentGateway) (err error) {
	prices, err := cfg.check()
	if err != nil {
		return fmt.Errorf("agent gateway: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work, end := node.Drain(ctx)
	defer end()
	replicas, err := stores.Join("agentgw", uuid.NewString())
	if err != nil {
		return fmt.Errorf("agent gateway: %w", err)
	}
	defer func() { err = errors.Join(err, replicas.Leave()) }()
	logger := node.Logger(rpc.AgentGateway)
	budget, err := newLimiter(cfg, stores, replicas.Name(), logger)
	if err != nil {
		return fmt.Errorf("agent gateway: %w", err)
	}
	if budget != nil {
		defer func() { err = errors.Join(err, budget.Close()) }()
	}
	server, err := newServer(work, cfg, prices, budget, stores, stores, replicas, logger)
	if err != nil {
		return fmt.Errorf("agent gateway: %w", err)
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	server.content = node.Telemetry().Content()
	defer context.AfterFunc(work, server.models.Abort)()
	unserve, err := stores.ServeLoad(func(sweepID string) *busv1.Load {
		return &busv1.Load{Providers: server.models.Load(sweepID)}
	})
	if err != nil {
		return fmt.Errorf("agent gateway: %w", err)
	}
	defer func() { err = errors.Join(err, unserve()) }()
	drained, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	attached, followed := make(chan error, 1), make(chan error, 1)
	go func() {
		defer cancel()
		attached <- server.serveAttached(ctx, drained, cfg)
	}()
	go func() {
		defer cancel()
		followed <- stores.WatchControl(drained, "", func(sweepID string, control *busv1.SweepControl) {
			server.cancelled.apply(sweepID, control)
			if control.GetDeleted() {
				budget.Forget(sweepID)
			}
		})
	}()
	err = server.serve(ctx, work, node, replicas)
	stop()
	return errors.Join(err, <-attached, <-followed)
}

// serve plays turns of callers and of other replicas until ctx is done. Then it accepts no more and
// finishes those in flight before work is done. Other replicas own its names meanwhile, but wait
// for its turns.
func (s *Server) serve(ctx, work context.Context, node rpc.Network, replicas *bus.Replicas) error {
	stop, err := s.serveForwarded()
	if err != nil {
		return fmt.Errorf("agent gateway: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	var errs [3]error
	for i, drain := range []func() error{
		replicas.Drain,
		func() error { return stop(work) },
		func() error { return s.agents.Drain(work) },
	} {
		group.Go(func() {
			<-ctx.Done()
			errs[i] = drain()
		})
	}
	err = node.Serve(ctx, rpc.AgentGateway, func(r grpc.ServiceRegistrar) {
		agentgwv1.RegisterAgentGatewayServiceServer(r, s)
		agentgwv1.RegisterPlayerCheckServiceServer(r, checker{server: s})
	})
	cancel()
	group.Wait()
	return errors.Join(append(errs[:], err)...)
}

// newLimiter returns the limiter of requests to model providers, or nil without limits.
func newLimiter(cfg Config, recordings ratelimit.Recordings, replica string, logger *slog.Logger) (*ratelimit.Limiter, error) {
	if cfg.Unbudgeted {
		return nil, nil
	}
	return ratelimit.New(cfg.Budget, recordings, replica, logger)
}
