package catalogue

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/toolsandbox/toolsandbox/internal/scenario"
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
				all[server.Name] = targetOf(pack.From, server)
			}
		}
	}
	maps.Copy(all, given)
	return all
}

// targetOf returns where a tool server of a pack is.
func targetOf(from string, server scenario.Server) toolhost.ToolServer {
	dir := from
	if info, err := os.Stat(from); err == nil && !info.IsDir() {
		dir = filepath.Dir(from)
	}
	return toolhost.ToolServer{Address: server.Address, Command: server.Command, Dir: dir}
}

// listTools asks the tool servers of a pack for their tools.
func (c *Selection) listTools(from string) func(scenario.Server) ([]*toolsv1.Tool, error) {
	return func(server scenario.Server) ([]*toolsv1.Tool, error) {
		target, given := c.Servers[server.Name]
		if !given {
			target = targetOf(from, server)
		}
		tools, err := toolhost.ListServerTools(context.Background(), server.Name, target, listLimit)
		if err != nil {
			return nil, errors.New(strings.Join(strings.Fields(err.Error()), " "))
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
