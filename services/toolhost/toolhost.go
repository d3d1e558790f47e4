// Package toolhost owns each session's world and executes tools in it: it keeps sessions in bbolt,
// runs every call exactly once, and announces new table versions on the bus.
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

	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/python/source"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/host"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/toolserver"
)

// storeFile holds the sessions of a shard, below the shard's directory.
const storeFile = "sessions.db"

// lockTimeout bounds waiting for another process that has the file open.
const lockTimeout = 5 * time.Second

// Run serves ToolHostService until ctx is done. It fails if the store cannot be opened or a commit
// fails: the process must then exit, reopen the file and go on with what was acknowledged.
func Run(ctx context.Context, cfg Config, m rpc.Network, stores bus.ToolHost) (err error) {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("toolhost: %w", err)
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return fmt.Errorf("toolhost: data directory %s cannot be made: %w: choose another --toolhost-dir", cfg.Dir, err)
	}
	sessions, err := store.Open(store.Config{Path: filepath.Join(cfg.Dir, storeFile), OpenTimeout: lockTimeout})
	if err != nil {
		return fmt.Errorf("toolhost: %w", err)
	}
	defer func() { err = errors.Join(err, sessions.Close()) }()
	services, err := newClient(cfg, m.Logger(rpc.ToolHost))
	if err != nil {
		return fmt.Errorf("toolhost: %w", err)
	}
	defer services.Close()
	servers := toolserver.NewClient(toolserver.Config{Targets: cfg.ToolServers, Timeout: cfg.ToolServerTimeout, Logger: m.Logger(rpc.ToolHost)})
	defer func() { err = errors.Join(err, servers.Close()) }()
	catalogue := tool.Builtin()
	owner, err := host.New(host.Config{Live: cfg.Live, LiveBytes: cfg.LiveBytes, MaxRows: cfg.MaxRows, MaxCalls: cfg.MaxCalls, MaxBytes: cfg.MaxBytes}, sessions, stores, catalogue, services, servers)
	if err != nil {
		return fmt.Errorf("toolhost: %w", err)
	}
	handler := &server{host: owner, catalogue: catalogue, owns: func(id string) bool { return m.Owns(rpc.ToolHost, id) }}
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
	err = m.Serve(ctx, rpc.ToolHost, func(registrar grpc.ServiceRegistrar) {
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

// ToolServer is where a tool server is.
type ToolServer = toolserver.Target

// ErrServerAway says that a tool server cannot be reached or does not answer in time.
var ErrServerAway = toolserver.ErrAway

// ToolServers are tool servers by name.
type ToolServers = toolserver.Targets

// ListServerTools asks a tool server for its tools, within a time. The server's name is that in
// errors. The list is checked: names are different, and all fields keep to their rules. The result
// is the caller's own. The error is ErrServerAway, or another try does not help.
func ListServerTools(ctx context.Context, name string, at ToolServer, within time.Duration) (tools []*toolsv1.Tool, err error) {
	client := toolserver.NewClient(toolserver.Config{Targets: toolserver.Targets{name: at}, Timeout: within, Logger: slog.New(slog.DiscardHandler)})
	defer func() { err = errors.Join(err, client.Close()) }()
	return client.List(ctx, name)
}

// newClient returns the client of the hosted services, with the key that the environment holds, if
// any.
func newClient(cfg Config, logger *slog.Logger) (*service.Client, error) {
	key, err := service.LookupKey(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return service.NewClient(service.ClientConfig{Key: key, BaseURL: cfg.ServiceURL, Timeout: cfg.ServiceTimeout, Logger: logger})
}

// Tools returns all tools as ListTools does, in the original's order. The result is the caller's
// own.
func Tools() []*toolhostv1.ToolInfo { return listed(tool.Builtin()) }

// listed describes the tools of a catalogue, and the one by which a user gives its consent.
func listed(catalogue *tool.Catalogue) []*toolhostv1.ToolInfo {
	return describe(append(slices.Clip(catalogue.All()), tool.AllowTool()))
}

// ConfirmedTools returns the built-in tools that need the user's consent where a scenario says so.
// The result is the caller's own.
func ConfirmedTools() []*setupv1.ConfirmedTool { return confirmed(tool.Builtin().All()) }

func confirmed(tools []*tool.Tool) []*setupv1.ConfirmedTool {
	var list []*setupv1.ConfirmedTool
	for _, t := range tools {
		if t.Confirm != "" {
			list = append(list, &setupv1.ConfirmedTool{Tool: t.Name, Action: t.Confirm})
		}
	}
	return list
}

// PackTools returns the tools that a setup has: those of its pack, and the built-in ones unless the
// pack stands alone. It reads the setup's files of tools, their backend and the tables, and runs
// none of their code. It also returns the pack's tools that always need the user's consent. The
// mistakes are what is wrong with the files. The results are the caller's own.
func PackTools(setup *setupv1.Setup) ([]*toolhostv1.ToolInfo, []*setupv1.ConfirmedTool, source.Mistakes) {
	catalogue, err := tool.Builtin().Extend(tool.PackOf(setup))
	var mistakes source.Mistakes
	if errors.As(err, &mistakes) {
		return nil, nil, mistakes
	}
	own := slices.DeleteFunc(slices.Clone(catalogue.All()), func(t *tool.Tool) bool { return !t.OfPack() })
	return listed(catalogue), confirmed(own), nil
}

func describe(tools []*tool.Tool) []*toolhostv1.ToolInfo {
	var infos []*toolhostv1.ToolInfo
	for _, t := range tools {
		info := &toolhostv1.ToolInfo{Tool: t.Shown(), Module: t.Module, VisibleTo: []worldv1.Role{t.VisibleTo()}, ReadOnly: t.ReadOnly, Backend: t.Backend}
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
