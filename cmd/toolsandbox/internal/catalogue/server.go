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

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/report"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/scenario"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

// listLimit bounds how long a tool server may take to tell its tools. Its program may have to be
// compiled first.
const listLimit = 30 * time.Second

// ToolServers returns where the tool servers of the loaded packs are, and those that a flag names:
// these come first.
func (c *Selection) ToolServers(given toolhost.ToolServers) toolhost.ToolServers {
	all := make(toolhost.ToolServers)
	for _, pack := range c.Loaded {
		for _, server := range pack.Servers {
			if _, taken := all[server.Name]; !taken {
				all[server.Name] = targetOf(pack.From, server, given)
			}
		}
	}
	for name, target := range given {
		if _, taken := all[name]; !taken {
			all[name] = target
		}
	}
	return all
}

// CheckServers checks that Servers names tool servers of the loaded packs alone.
func (c *Selection) CheckServers() error {
	var known []string
	for _, pack := range c.Loaded {
		for _, server := range pack.Servers {
			known = append(known, server.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		if slices.Contains(known, name) {
			continue
		}
		if near := spelling.Nearest(name, known, 2); near != "" {
			return process.Usage("--toolhost-tool-server: %s names no tool server of %s; did you mean %q?", name, c.From(), near)
		}
		return process.Usage("--toolhost-tool-server: %s names no tool server of %s: see tools in pack.yaml", name, c.From())
	}
	return nil
}

// targetOf returns where a tool server of a pack is: at a given place, or where the pack says. A
// command gets the variables that the pack needs, and no others.
func targetOf(from string, server scenario.Server, given toolhost.ToolServers) toolhost.ToolServer {
	target, ok := given[server.Name]
	if !ok {
		target = toolhost.ToolServer{Address: server.Address, Command: server.Command, Dir: from}
		if info, err := os.Stat(from); err == nil && !info.IsDir() {
			target.Dir = filepath.Dir(from)
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

// warnOfStart says that loading a pack starts a program, and with which variables. The error is
// w's.
func warnOfStart(w io.Writer, from string, server scenario.Server, target toolhost.ToolServer) error {
	with := ""
	if len(target.Environment) > 0 {
		with = " with " + strings.Join(target.Environment, ", ")
	}
	return report.Warn(w, "%s/%s:%d:%d: starts %s%s to ask %s for its tools; toolsandbox pack freeze keeps their list in the pack",
		from, server.File, server.Line, server.Column, target.Command[0], with, server.Name)
}

// warnOfState says what does not hold with a server that keeps a state. The error is w's.
func warnOfState(w io.Writer, from string, server scenario.Server) error {
	if !server.State {
		return nil
	}
	return report.Warn(w, "%s/%s:%d:%d: %s keeps a state (state: session): parallel calls are made in the given order alone, and forks and restarts repeat its calls: see docs/tool-servers.md",
		from, server.File, server.Line, server.Column, server.Name)
}

// listTools asks the tool servers of a pack for their tools, and says so where it starts a program.
func (c *Selection) listTools(ctx context.Context, warnings io.Writer, from string) func(scenario.Server) ([]*toolsv1.Tool, error) {
	return func(server scenario.Server) ([]*toolsv1.Tool, error) {
		target := targetOf(from, server, c.Servers)
		if missing := unmet(server.Environment); len(missing) > 0 && len(target.Command) > 0 {
			return nil, missing[0]
		}
		if len(target.Command) > 0 {
			if err := warnOfStart(warnings, from, server, target); err != nil {
				return nil, err
			}
		}
		tools, err := toolhost.ListServerTools(ctx, server.Name, target, listLimit)
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

// Freeze writes the lists of the tools of a pack's servers into the pack, so that it can be loaded
// without them. It returns the files that it wrote.
func (p Pack) Freeze() ([]string, error) {
	var written []string
	for _, server := range p.ToolServers {
		raw, err := protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Marshal(&toolsv1.ListToolsResponse{Tools: server.GetTools()})
		if err != nil {
			return written, err
		}
		raw = []byte(strings.ReplaceAll(string(raw), `":  `, `": `)) // protojson varies its spaces
		name := filepath.Join(p.From, "tools", server.GetName()+".json")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return written, err
		}
		if err := os.WriteFile(name, append(raw, '\n'), 0o600); err != nil {
			return written, err
		}
		written = append(written, name)
	}
	return written, nil
}
