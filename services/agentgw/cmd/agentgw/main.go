// Command agentgw runs the agent gateway as a process of its own.
package main

import (
	"context"
	"os"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/launch"
	"github.com/toolsandbox/toolsandbox/internal/mesh"
	"github.com/toolsandbox/toolsandbox/services/agentgw"
)

func main() {
	os.Exit(launch.Main(mesh.AgentGateway, func(fs *pflag.FlagSet) launch.Run {
		cfg := agentgw.DefaultConfig()
		cfg.RegisterFlags(fs)
		return func(ctx context.Context, m *mesh.Mesh) error { return agentgw.Run(ctx, cfg, m) }
	}))
}
