// Command toolhost runs the tool host as a process of its own.
package main

import (
	"context"
	"os"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/launch"
	"github.com/toolsandbox/toolsandbox/internal/mesh"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

func main() {
	os.Exit(launch.Main(mesh.ToolHost, func(flags *pflag.FlagSet) launch.Run {
		cfg := toolhost.DefaultConfig()
		cfg.RegisterFlags(flags)
		return func(ctx context.Context, m *mesh.Mesh) error { return toolhost.Run(ctx, cfg, m) }
	}))
}
