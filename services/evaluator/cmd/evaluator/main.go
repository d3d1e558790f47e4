// Command evaluator runs the evaluator as a process of its own.
package main

import (
	"context"
	"os"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/launch"
	"github.com/toolsandbox/toolsandbox/internal/mesh"
	"github.com/toolsandbox/toolsandbox/services/evaluator"
)

func main() {
	os.Exit(launch.Main(mesh.Evaluator, func(flags *pflag.FlagSet) launch.Run {
		cfg := evaluator.DefaultConfig()
		cfg.RegisterFlags(flags)
		return func(ctx context.Context, m *mesh.Mesh) error { return evaluator.Run(ctx, cfg, m) }
	}))
}
