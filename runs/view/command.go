package view

import (
	"context"
	"errors"
	"io"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
)

// Command is one use of the viewer. Its fields are flags of toolsandbox view.
type Command struct {
	// Installation explains scores. With Network.Remote it has the sweeps, and with Network.AccessFile
	// the viewer serves them to its teams.
	Installation standalone.Config
	Scenarios    Scenarios
	AcceptEdits  bool
	// Listen is the address to listen on. Hosts are its public names, as a browser sends them.
	Listen string
	Hosts  []string
	// Export is a new directory for the pages as files, empty to serve them.
	Export string
	// Proofs: the files have the proofs of the scenarios.
	Proofs bool
	// Fork lets forms of the pages continue rollouts of directories, see Site.AllowForks. Nil without
	// such forms.
	Fork RunCommand
	// TraceUI is as that of NewSite.
	TraceUI        string
	Stdout, Stderr io.Writer
}

// Run shows runs by their arguments until ctx is done, or writes their pages.
func (c *Command) Run(ctx context.Context, args []string) error {
	network := c.Installation.Network
	if err := errors.Join(network.Validate(), telemetry.CheckTraceUI(c.TraceUI)); err != nil {
		return process.UsageErrorf("%w", err)
	}
	switch {
	case c.Fork != nil && (c.Export != "" || network.Remote):
		return process.UsageErrorf("--allow-fork: given with --export or --remote, but only served pages of directories fork")
	case network.AccessFile != "" && (len(args) > 0 || c.Export != ""):
		return process.UsageErrorf("--access-file: given with RUN or --export, expected alone: each team sees its own sweeps")
	case network.AccessFile != "":
		return c.serveTeams(ctx)
	}
	if err := needLoopback(c.Listen); err != nil {
		return err
	}
	if !network.Remote {
		return c.show(ctx, args, nil)
	}
	return standalone.WithTemporary(ctx, c.Installation, "warn", c.Stderr, func(ctx context.Context, node *rpc.Node) error {
		return c.show(ctx, args, orchestratorv1.NewOrchestratorServiceClient(node.Conn(rpc.Orchestrator)))
	})
}

// show serves or writes the pages of runs.
func (c *Command) show(ctx context.Context, args []string, orchestrator orchestratorv1.OrchestratorServiceClient) error {
	sources, err := OpenAll(ctx, args, c.AcceptEdits, c.Stderr, c.Scenarios, orchestrator)
	if err != nil {
		return err
	}
	site := NewSite(sources, c.Scenarios, c.evaluate, c.TraceUI)
	if c.Fork != nil {
		site.AllowForks(c.Fork)
	}
	if c.Export != "" {
		return site.Export(ctx, c.Export, c.Proofs, c.Stderr)
	}
	return site.Run(ctx, c.Listen, c.Stdout)
}

// evaluate calls do with an evaluator, which it starts unless there is an installation.
func (c *Command) evaluate(ctx context.Context, do func(context.Context, evaluatorv1.EvaluatorServiceClient) error) error {
	return standalone.WithTemporary(ctx, c.Installation, "warn", c.Stderr, func(ctx context.Context, node *rpc.Node) error {
		return do(ctx, evaluatorv1.NewEvaluatorServiceClient(node.Conn(rpc.Evaluator)))
	})
}
