package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/bench"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// benchOptions are the flags of bench.
type benchOptions struct {
	catalogue          catalogue.Selection
	asJSON             bool
	profile            string
	rollouts, parallel int
	agent, baseURL     string
	delay              time.Duration
	network            rpc.Config
	telemetry          telemetry.Config
}

func newBench() *cobra.Command {
	options := &benchOptions{rollouts: 5000, parallel: 64, agent: "oracle", network: rpc.DefaultConfig(), telemetry: telemetry.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "bench [NAME...]",
		Short: "Measure rollouts through all services in this process",
		Long: `bench plays the scenarios' own solutions through the four services, the bus, the disk and the evaluator in one
process, and prints the cost of one rollout. It measures the real path, except that it writes no result files.

If --agent is a model, bench plays one sweep with it. With --model-delay it compares the total time with the longest chain of
answers of that time each.`,
		Example: "  toolsandbox bench\n  toolsandbox bench --rollouts 20000 --json\n" +
			"  toolsandbox bench --agent openai:slow --base-url http://localhost:8000/v1 --model-delay 5s --rollouts 5000 --parallel 5000",
		RunE: func(cmd *cobra.Command, args []string) error {
			return options.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	options.catalogue.RegisterFlags(flags)
	flags.IntVar(&options.rollouts, "rollouts", options.rollouts, "rollouts to measure")
	flags.IntVarP(&options.parallel, "parallel", "p", options.parallel, "concurrent rollouts")
	flags.StringVar(&options.profile, "cpu-profile", "", "file for the CPU profile of the measured sweep")
	flags.StringVar(&options.agent, "agent", options.agent, "who plays the agent")
	flags.StringVar(&options.baseURL, "base-url", "", "`address` of the server of a model as --agent (default: the provider's)")
	flags.DurationVar(&options.delay, "model-delay", 0, "time of that model for an answer, for a comparison (default: none)")
	options.network.Sync.RegisterFlag(flags)
	options.telemetry.RegisterFlags(flags)
	flags.BoolVar(&options.asJSON, "json", false, "print JSON")
	return cmd
}

func (o *benchOptions) run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	scenarios, err := o.catalogue.Load(ctx, stderr, args)
	if err == nil {
		err = o.catalogue.CheckNeeds()
	}
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "toolsandbox-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	spec, err := o.spec(scenarios)
	if err != nil {
		return err
	}
	services := standalone.DefaultConfig()
	services.Network = o.network
	services.AgentGateway.AllowPlayers(spec.Agents...)
	services.ToolHost.ToolServers = o.catalogue.ToolServers(nil)
	services.Dir, services.Orchestrator.Parallel, services.ToolHost.CachedSessions = dir, o.parallel, 1<<20
	if err := play.CheckSockets(services, spec); err != nil {
		return err
	}
	logger := process.TextLog(stderr, "warn")
	exported, err := telemetry.Start(ctx, o.telemetry, "toolsandbox")
	if err != nil {
		return err
	}
	defer exported.Finish(ctx, logger)
	config := bench.Config{Installation: services, Options: rpc.Options{Logger: logger, Telemetry: exported}, Spec: spec, Profile: o.profile}
	if spec.Agents[0].GetModel() != nil {
		measured, err := bench.Model(ctx, config, o.delay)
		if err != nil {
			return err
		}
		if o.asJSON {
			return report.JSON(stdout, measured)
		}
		return measured.WriteText(stdout)
	}
	measured, err := bench.Run(ctx, config)
	if err != nil {
		return err
	}
	if o.asJSON {
		return report.JSON(stdout, measured)
	}
	return measured.WriteText(stdout)
}

// validate checks the ranges of the flags.
func (o *benchOptions) validate() error {
	switch err := o.telemetry.Validate(); {
	case o.rollouts < 1:
		return process.UsageErrorf("--rollouts: %d given, expected 1 or more", o.rollouts)
	case o.parallel < 1 || o.parallel > 100000:
		return process.UsageErrorf("--parallel: %d given, expected 1 to 100000", o.parallel)
	case o.delay < 0:
		return process.UsageErrorf("--model-delay: %s given, expected 0s or more", o.delay)
	case err != nil:
		return process.UsageErrorf("%w", err)
	}
	return nil
}

// spec returns the sweep that is measured.
func (o *benchOptions) spec(scenarios []*scenariov1.Scenario) (sweep.Spec, error) {
	agent, err := player.Parse(worldv1.Role_ROLE_AGENT, o.agent)
	if err != nil {
		return sweep.Spec{}, process.UsageErrorf("--agent: %w", err)
	}
	if o.delay > 0 && agent.GetModel() == nil {
		return sweep.Spec{}, process.UsageErrorf("--model-delay: %s given, but %s is no model: give --agent openai:NAME --base-url URL", o.delay, o.agent)
	}
	if o.baseURL != "" {
		if err := player.SetBaseURL(agent, o.baseURL); err != nil {
			return sweep.Spec{}, process.UsageErrorf("--base-url: %w", err)
		}
	}
	user, err := player.Parse(worldv1.Role_ROLE_USER, "scripted")
	return sweep.Spec{
		RepeatLimit: new(int32(0)), // a fake model may answer the same again and again
		Scenarios:   scenarios, Agents: []*agentgwv1.Player{agent}, Users: []*agentgwv1.Player{user},
		Trials: max(o.rollouts/len(scenarios), 1), Parallel: o.parallel,
	}, err
}
