// Package standalone runs the services that this process has to host, in the order in which they
// depend on each other, or none where an installation elsewhere does.
package standalone

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/launch"
	"github.com/toolsandbox/toolsandbox/internal/mesh"
	"github.com/toolsandbox/toolsandbox/services/agentgw"
	"github.com/toolsandbox/toolsandbox/services/evaluator"
	"github.com/toolsandbox/toolsandbox/services/orchestrator"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// stopLimit bounds how long the services may take to stop.
const stopLimit = 4 * time.Second

// Config holds the configuration of everything that may run in this process.
type Config struct {
	// Network says whether and how to reach an installation elsewhere.
	Network mesh.Config
	// Dir holds the data of an installation in this process.
	Dir string
	// Services are those that run in this process if it is an installation. Calls to the others are
	// not answered.
	Services []mesh.Service

	Orchestrator orchestrator.Config
	ToolHost     toolhost.Config
	AgentGateway agentgw.Config
	Evaluator    evaluator.Config
}

// DefaultConfig returns the services' defaults and lets all of them run.
func DefaultConfig() Config {
	return Config{
		Network:      mesh.DefaultConfig(),
		Services:     mesh.Services(),
		Orchestrator: orchestrator.DefaultConfig(),
		ToolHost:     toolhost.DefaultConfig(),
		AgentGateway: agentgw.DefaultConfig(),
		Evaluator:    evaluator.DefaultConfig(),
	}
}

// Engine is an installation that can be talked to. Close it.
type Engine struct {
	release func() error // of the directory
	mesh    *mesh.Mesh
	group   *launch.Group
}

// Start connects and starts what has to run here. A directory that another process uses is
// ErrInUse.
func Start(ctx context.Context, cfg Config, parts mesh.Parts) (*Engine, error) {
	release := func() error { return nil }
	if !cfg.Network.Remote {
		var err error
		if release, err = lockDirectory(cfg.Dir); err != nil {
			return nil, err
		}
	}
	m, err := mesh.Open(ctx, cfg.Network, cfg.Dir, parts)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	cfg.ToolHost.Dir = filepath.Join(cfg.Dir, "toolhost")
	services := []struct {
		name mesh.Service
		run  func(context.Context) error
	}{
		{mesh.ToolHost, func(ctx context.Context) error { return toolhost.Run(ctx, cfg.ToolHost, m, m.Bus().ToolHost()) }},
		{mesh.AgentGateway, func(ctx context.Context) error { return agentgw.Run(ctx, cfg.AgentGateway, m, m.Bus().AgentGateway()) }},
		{mesh.Evaluator, func(ctx context.Context) error { return evaluator.Run(ctx, cfg.Evaluator, m, m.Bus().Evaluator()) }},
		{mesh.Orchestrator, func(ctx context.Context) error {
			return orchestrator.Run(ctx, cfg.Orchestrator, m, m.Bus().Orchestrator())
		}},
	}
	var components []launch.Component
	for _, service := range services {
		if m.Hosts(service.name) && slices.Contains(cfg.Services, service.name) {
			components = append(components, launch.Component{Name: string(service.name), Run: service.run})
		}
	}
	return &Engine{release: release, mesh: m, group: launch.Start(ctx, components...)}, nil
}

// Mesh returns the connections to the services.
func (e *Engine) Mesh() *mesh.Mesh { return e.mesh }

// Failed delivers the error of a service that ended by itself.
func (e *Engine) Failed() <-chan error { return e.group.Failed() }

// Close stops the services in reverse order, closes the connections and lets go of the directory.
func (e *Engine) Close() error {
	return errors.Join(e.group.Stop(stopLimit), e.mesh.Close(), e.release())
}
