// Package toolhost owns the sessions' worlds and executes tools in them. It stores sessions in
// bbolt, executes every call exactly once, and publishes new table versions on the bus.
package toolhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python/source"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/holiday"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/host"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/toolserver"
)

// storeFile is the name of the session file in a tool host's directory.
const storeFile = "sessions.db"

// lockTimeout bounds the wait for another process that has the session file open.
const lockTimeout = 5 * time.Second

// Run serves ToolHostService until ctx is done. It fails if the store cannot be opened or a commit
// fails. After a failed commit the process must exit and reopen the file.
func Run(ctx context.Context, cfg Config, node rpc.Network, stores bus.ToolHost) (err error) {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("toolhost: %w", err)
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return fmt.Errorf("toolhost: data directory %s cannot be made: %w: choose another --toolhost-dir", cfg.Dir, err)
	}
	sessions, replaced, err := store.OpenOrReplace(store.Config{Path: filepath.Join(cfg.Dir, storeFile), OpenTimeout: lockTimeout}, time.Now())
	if err != nil {
		return fmt.Errorf("toolhost: %w", err)
	}
	if replaced != nil {
		node.Logger(rpc.ToolHost).Warn("the session file was damaged; its sessions are made anew from their logs", "kept", replaced.Aside, "damage", replaced.Cause)
	}
	defer func() { err = errors.Join(err, sessions.Close()) }()
	services, err := newClient(cfg, node.Logger(rpc.ToolHost))
	if err != nil {
		return fmt.Errorf("toolhost: %w", err)
	}
	defer services.Close()
	servers := toolserver.NewClient(toolserver.Config{Targets: cfg.ToolServers, Timeout: cfg.ToolServerTimeout, Logger: node.Logger(rpc.ToolHost)})
	defer func() { err = errors.Join(err, servers.Close()) }()
	catalogue := tool.Builtin()
	owner, err := host.New(host.Config{CachedSessions: cfg.CachedSessions, CacheBytes: cfg.CacheBytes, MaxRows: cfg.MaxRows, MaxCalls: cfg.MaxCalls, MaxBytes: cfg.MaxBytes}, sessions, stores, catalogue, services, servers)
	if err != nil {
		return fmt.Errorf("toolhost: %w", err)
	}
	meters, err := newMeters(owner, sessions, cfg.Dir)
	defer func() { err = errors.Join(err, meters.stop()) }()
	if err != nil {
		return fmt.Errorf("toolhost: %w", err)
	}
	handler := &server{
		host: owner, catalogue: catalogue, check: node.CheckOwner, hosts: node.ToolHosts, meters: meters,
		tracer: otel.Tracer(telemetry.Scope), content: node.Telemetry().Content(),
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case err := <-sessions.Failed():
			stop(err)
		case <-ctx.Done():
		}
	}()
	err = node.Serve(ctx, rpc.ToolHost, func(registrar grpc.ServiceRegistrar) {
		toolhostv1.RegisterToolHostServiceServer(registrar, handler)
	})
	stop(nil)
	<-watched
	if failure := context.Cause(ctx); !errors.Is(failure, context.Canceled) {
		err = errors.Join(err, failure)
	}
	if err != nil {
		return fmt.Errorf("toolhost: %w", err)
	}
	return nil
}

// ToolServer is the location of a tool server.
type ToolServer = toolserver.Target

// ErrServerUnavailable means that a tool server cannot be reached or does not answer in time.
var ErrServerUnavailable = toolserver.ErrUnavailable

// ToolServers are tool servers by name.
type ToolServers = toolserver.Targets

// ListServerTools returns the validated tools of a server. timeout bounds all attempts. Errors
// contain the name. Another attempt may help only if the error is ErrServerUnavailable. The caller
// owns the result.
func ListServerTools(ctx context.Context, name string, target ToolServer, timeout time.Duration) (tools []*toolsv1.Tool, err error) {
	client := toolserver.NewClient(toolserver.Config{Targets: toolserver.Targets{name: target}, Timeout: timeout, Logger: slog.New(slog.DiscardHandler)})
	defer func() { err = errors.Join(err, client.Close()) }()
	return client.List(ctx, name)
}

// newClient returns the client of the hosted services, with the key from the environment, if any.
func newClient(cfg Config, logger *slog.Logger) (*service.Client, error) {
	key, err := service.LookupKey(os.Getenv)
	if err != nil {
		return nil, err
	}
	return service.NewClient(service.ClientConfig{Key: key, BaseURL: cfg.ServiceURL, Timeout: cfg.ServiceTimeout, Logger: logger})
}

// Tools returns all built-in tools as ListTools does, in the original's order. The caller owns the
// result.
func Tools() []*toolhostv1.ToolInfo { return listed(tool.Builtin()) }

// listed describes the tools of a catalogue and the consent tool of users.
func listed(catalogue *tool.Catalogue) []*toolhostv1.ToolInfo {
	return describe(append(slices.Clip(catalogue.All()), tool.AllowTool()))
}

// ConsentTools returns the built-in tools that need the user's consent if a scenario requires it.
// The caller owns the result.
func ConsentTools() []*setupv1.ConsentTool { return confirmed(tool.Builtin().All()) }

// HolidayNames returns the names of the holidays that search_holiday knows. The caller owns the
// result.
func HolidayNames() []string { return holiday.Names() }

func confirmed(tools []*tool.Tool) []*setupv1.ConsentTool {
	var list []*setupv1.ConsentTool
	for _, t := range tools {
		if t.ConsentAction != "" {
			list = append(list, &setupv1.ConsentTool{Tool: t.Name, Action: t.ConsentAction})
		}
	}
	return list
}

// PackTools returns the tools of a setup: those of its pack, and the built-in ones unless the pack
// excludes them. It also returns the pack's tools that always need the user's consent. It parses
// the setup's files and does not execute their code. The mistakes are those of the files. The
// caller owns the results.
func PackTools(setup *setupv1.Setup) ([]*toolhostv1.ToolInfo, []*setupv1.ConsentTool, source.Mistakes) {
	catalogue, err := tool.Builtin().Extend(tool.PackOf(setup))
	var mistakes source.Mistakes
	if errors.As(err, &mistakes) {
		return nil, nil, mistakes
	}
	packTools := slices.DeleteFunc(slices.Clone(catalogue.All()), func(t *tool.Tool) bool { return !t.IsPackTool() })
	return listed(catalogue), confirmed(packTools), nil
}

// AgentTools returns the tools of a session's agent as it sees them, with the augmentations of the
// setup. The caller owns the result.
func AgentTools(setup *setupv1.Setup) ([]*worldv1.Tool, error) {
	if task := setup.GetFunctionCalling(); task != nil {
		return task.GetFunctions(), nil
	}
	catalogue, err := tool.Builtin().Extend(tool.PackOf(setup))
	if err != nil {
		return nil, err
	}
	selection, err := catalogue.Select(setup.GetTools())
	if err == nil {
		selection, err = catalogue.RequireConsent(selection, setup.GetConsentTools())
	}
	if err != nil {
		return nil, err
	}
	return selection.Agent, nil
}

func describe(tools []*tool.Tool) []*toolhostv1.ToolInfo {
	var infos []*toolhostv1.ToolInfo
	for _, t := range tools {
		info := &toolhostv1.ToolInfo{Tool: t.WithoutAugmentations(), Module: t.Module, VisibleTo: t.VisibleTo(), ReadOnly: t.ReadOnly, Backend: t.Backend}
		for _, need := range t.Needs {
			info.Needs = append(info.Needs, string(need))
		}
		for _, need := range t.DefaultNeeds {
			info.DefaultNeeds = append(info.DefaultNeeds, string(need))
		}
		infos = append(infos, info)
	}
	return infos
}
