// Command orchestrator runs the orchestrator as a process of its own.
package main

import (
	"context"
	"os"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/launch"
	"github.com/toolsandbox/toolsandbox/internal/mesh"
	"github.com/toolsandbox/toolsandbox/services/orchestrator"
)

func main() {
	os.Exit(launch.Main(mesh.Orchestrator, func(flags *pflag.FlagSet) launch.Run {
		cfg := orchestrator.DefaultConfig()
		cfg.RegisterFlags(flags)
		return func(ctx context.Context, m *mesh.Mesh) error { return orchestrator.Run(ctx, cfg, m) }
	}))
}
