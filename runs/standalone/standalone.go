// Package standalone runs the services of this process in the order of their dependencies, or none
// for a remote installation.
package standalone

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/services/agentgw"
	"github.com/toolsandbox/toolsandbox/services/evaluator"
	"github.com/toolsandbox/toolsandbox/services/orchestrator"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

const (
	// stopLimit is how long the services may take to stop.
	stopLimit = 4 * time.Second
	// grace bounds rpc.Config.Grace in this process, because a person waits for it. The orchestrator
	// and the gateway may use it one after the other.
	grace = time.Second
)

// Config configures everything that may run in this process.
type Config struct {
	// Network configures the connection to a remote installation.
	Network rpc.Config
	// Dir holds the data of an installation in this process.
	Dir string
	// Services are those that run in this process. Calls to the others are not answered.
	Services []rpc.Service

	Orchestrator orchestrator.Config
	ToolHost     toolhost.Config
	AgentGateway agentgw.Config
	Evaluator    evaluator.Config
}

// DefaultConfig returns the services' defaults and runs all of them.
func DefaultConfig() Config {
	return Config{
		Network:      rpc.DefaultConfig(),
		Services:     rpc.Services(),
		Orchestrator: orchestrator.DefaultConfig(),
		ToolHost:     toolhost.DefaultConfig(),
		AgentGateway: agentgw.DefaultConfig(),
		Evaluator:    evaluator.DefaultConfig(),
	}
}

// Installation is a running installation. Close it.
type Installation struct {
	release func() error // of the directory
	node    *rpc.Node
	group   *process.Group
}

// Start connects and starts the local services. A directory that another process uses is ErrInUse.
func Start(ctx context.Context, cfg Config, parts rpc.Options) (*Installation, error) {
	release := func() error { return nil }
	if !cfg.Network.Remote {
		var err error
		if release, err = lockDirectory(cfg.Dir); err != nil {
			return nil, err
		}
		cfg.Network.Grace = min(cfg.Network.Grace, grace)
	}
	m, err := rpc.Open(ctx, cfg.Network, cfg.Dir, parts)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	cfg.ToolHost.Dir = filepath.Join(cfg.Dir, "toolhost")
	services := []struct {
		name rpc.Service
		run  func(context.Context) error
	}{
		{rpc.ToolHost, func(ctx context.Context) error {
			return toolhost.Run(ctx, cfg.ToolHost, m.Network(), m.Bus().ToolHost())
		}},
		{rpc.AgentGateway, func(ctx context.Context) error {
			return agentgw.Run(ctx, cfg.AgentGateway, m.Network(), m.Bus().AgentGateway())
		}},
		{rpc.Evaluator, func(ctx context.Context) error {
			return evaluator.Run(ctx, cfg.Evaluator, m.Network(), m.Bus().Evaluator())
		}},
		{rpc.Orchestrator, func(ctx context.Context) error {
			return orchestrator.Run(ctx, cfg.Orchestrator, m.Network(), m.Bus().Orchestrator())
		}},
	}
	components := []process.Component{{Name: "NATS", Run: m.RunNATS}}
	for _, service := range services {
		if m.Hosts(service.name) && slices.Contains(cfg.Services, service.name) {
			components = append(components, process.Component{Name: string(service.name), Run: service.run})
		}
	}
	return &Installation{release: release, node: m, group: process.Start(ctx, components...)}, nil
}

// Node returns the connections to the services.
func (i *Installation) Node() *rpc.Node { return i.node }

// Failed delivers the error of a service that ended by itself.
func (i *Installation) Failed() <-chan error { return i.group.Failed() }

// Close stops the services in reverse order, closes the connections and unlocks the directory.
func (i *Installation) Close() error {
	return errors.Join(i.group.Stop(stopLimit), i.node.Close(), i.release())
}
