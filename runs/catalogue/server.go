package catalogue

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// listTimeout bounds the time to list the tools of a server, including a compilation of its
// program.
const listTimeout = 30 * time.Second

// ToolServers returns the targets of the loaded packs' tool servers and of overrides, by name.
// overrides take precedence.
func (c *Selection) ToolServers(overrides toolhost.ToolServers) toolhost.ToolServers {
	all := make(toolhost.ToolServers)
	for _, p := range c.LoadedPacks {
		for _, server := range p.Servers {
			if _, taken := all[server.Name]; !taken {
				all[server.Name] = resolveTarget(p.Path, server, overrides)
			}
		}
	}
	for name, target := range overrides {
		if _, taken := all[name]; !taken {
			all[name] = target
		}
	}
	return all
}

// CheckServers returns an error if c.Servers names a server that no loaded pack has.
func (c *Selection) CheckServers() error {
	var known []string
	for _, p := range c.LoadedPacks {
		for _, server := range p.Servers {
			known = append(known, server.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		if slices.Contains(known, name) {
			continue
		}
		if nearest := spelling.Nearest(name, known, 2); nearest != "" {
			return process.UsageErrorf("--toolhost-tool-server: %s names no tool server of %s; did you mean %q?", name, c.SourceNames(), nearest)
		}
		return process.UsageErrorf("--toolhost-tool-server: %s names no tool server of %s: see tools in pack.yaml", name, c.SourceNames())
	}
	return nil
}

// resolveTarget returns the target of a pack's tool server: that of overrides, otherwise the
// pack's. A command gets only the environment variables that the pack needs.
func resolveTarget(packPath string, server pack.Server, overrides toolhost.ToolServers) toolhost.ToolServer {
	target, ok := overrides[server.Name]
	if !ok {
		target = toolhost.ToolServer{Address: server.Address, Command: server.Command, Dir: packPath}
		if info, err := os.Stat(packPath); err == nil && !info.IsDir() {
			target.Dir = filepath.Dir(packPath)
		}
	}
	if len(target.Command) == 0 {
		return target
	}
	target.Environment = slices.Clone(target.Environment)
	for _, need := range server.Environment {
		if !slices.Contains(target.Environment, need.Variable) {
			target.Environment = append(target.Environment, need.Variable)
		}
	}
	return target
}

// warnStart warns that loading a pack starts a program, with the names of its environment
// variables. The error is that of w.
func warnStart(w io.Writer, packPath string, server pack.Server, target toolhost.ToolServer) error {
	with := ""
	if len(target.Environment) > 0 {
		with = " with " + strings.Join(target.Environment, ", ")
	}
	return report.Warn(w, "%s/%s:%d:%d: starts %s%s to ask %s for its tools; toolsandbox pack freeze keeps their list in the pack",
		packPath, server.File, server.Line, server.Column, target.Command[0], with, server.Name)
}

// warnState warns about the restrictions of a tool server with state. The error is that of w.
func warnState(w io.Writer, packPath string, server pack.Server) error {
	if !server.Stateful {
		return nil
	}
	return report.Warn(w, "%s/%s:%d:%d: %s keeps state (state: session): parallel calls run only in the given order, and forks and restarts repeat its calls: see docs/tool-servers.md",
		packPath, server.File, server.Line, server.Column, server.Name)
}

// listTools returns a function that lists the tools of a pack's server. It warns before it starts a
// program.
func (c *Selection) listTools(ctx context.Context, warnings io.Writer, packPath string) func(pack.Server) ([]*toolsv1.Tool, error) {
	return func(server pack.Server) ([]*toolsv1.Tool, error) {
		target := resolveTarget(packPath, server, c.Servers)
		if missing := unmetNeeds(server.Environment); len(missing) > 0 && len(target.Command) > 0 {
			return nil, missing[0]
		}
		if len(target.Command) > 0 {
			if err := warnStart(warnings, packPath, server, target); err != nil {
				return nil, err
			}
		}
		tools, err := toolhost.ListServerTools(ctx, server.Name, target, listTimeout)
		if err != nil {
			remedy := ""
			if errors.Is(err, toolhost.ErrServerUnavailable) {
				remedy = "; start it, or keep its list of tools in the pack with toolsandbox pack freeze"
			}
			return nil, errors.New(strings.Join(strings.Fields(err.Error()), " ") + remedy)
		}
		return tools, nil
	}
}

// Freeze writes the tools of the pack's servers into the pack, so that it can be loaded without the
// servers. It returns the written files.
func (p Pack) Freeze() ([]string, error) {
	var written []string
	for _, server := range p.ToolServers {
		raw, err := protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Marshal(&toolsv1.ListToolsResponse{Tools: server.GetTools()})
		if err != nil {
			return written, err
		}
		raw = []byte(strings.ReplaceAll(string(raw), `":  `, `": `)) // protojson varies its spaces
		name := filepath.Join(p.Path, "tools", server.GetName()+".json")
		if err := results.WriteFile(name, append(raw, '\n')); err != nil {
			return written, err
		}
		written = append(written, name)
	}
	return written, nil
}
