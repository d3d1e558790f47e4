package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/bench"
	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/catalogue"
	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/report"
	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/standalone"
	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/sweep"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// benchOptions are the flags of bench.
type benchOptions struct {
	catalogue          catalogue.Selection
	asJSON             bool
	profile            string
	rollouts, parallel int
	delay              time.Duration
	calls              int
	http2              bool
	network            rpc.Config
}

func newBench() *cobra.Command {
	options := &benchOptions{rollouts: 5000, parallel: 64, calls: 8, network: rpc.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "bench [NAME...]",
		Short: "Measure rollouts through all services in this process",
		Long: `bench plays the scenarios' own solutions through the four services, the bus, the disk and the evaluator of one
process, and prints what one rollout costs. It measures the real path; only result files are not written.

With --model-delay the agent is a model behind HTTP in this process that answers each request after that time, and the
time of the whole is compared with the longest chain of its answers.`,
		Example: "  toolsandbox bench\n  toolsandbox bench --rollouts 20000 --json\n" +
			"  toolsandbox bench --model-delay 5s --rollouts 5000 --parallel 5000 report_all_switches",
		RunE: func(cmd *cobra.Command, args []string) error {
			return options.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	options.catalogue.RegisterFlags(flags)
	flags.IntVar(&options.rollouts, "rollouts", options.rollouts, "rollouts to measure")
	flags.IntVarP(&options.parallel, "parallel", "p", options.parallel, "rollouts at once")
	flags.StringVar(&options.profile, "cpu-profile", "", "file for the CPU profile of the measured sweep")
	flags.DurationVar(&options.delay, "model-delay", 0, "let a model play the agent that answers after this time; 0 lets the oracle play")
	flags.IntVar(&options.calls, "model-calls", options.calls, "turns with a call that this model takes")
	flags.BoolVar(&options.http2, "model-http2", false, "let requests to this model share connections, over HTTP/2 without TLS")
	options.network.Sync.RegisterFlag(flags)
	flags.BoolVar(&options.asJSON, "json", false, "print JSON")
	return cmd
}

func (o *benchOptions) run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	if o.rollouts < 1 || o.parallel < 1 || o.parallel > 100000 || o.delay < 0 || o.calls < 0 {
		return process.Usage("--rollouts, --parallel, --model-delay and --model-calls: %d, %d, %s and %d given, expected at least 1, 1 to 100000, and nothing below 0",
			o.rollouts, o.parallel, o.delay, o.calls)
	}
	scenarios, err := o.catalogue.Load(args)
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
	spec, err := benchSpec(o.parallel)
	if err != nil {
		return err
	}
	spec.Scenarios = scenarios
	services := standalone.DefaultConfig()
	services.Network = o.network
	services.Dir, services.Orchestrator.Parallel, services.ToolHost.Live = dir, o.parallel, 1<<20
	log := process.DefaultLog()
	log.Level = "warn"
	config := bench.Config{Engine: services, Parts: rpc.Options{Logger: log.New(stderr)}, Spec: spec, Rollouts: o.rollouts, Profile: o.profile}
	if o.delay > 0 {
		services.AgentGateway.Getenv = func(name string) string { return map[string]string{"OPENAI_API_KEY": "none"}[name] }
		config.Engine = services
		measured, err := bench.Model(ctx, config, o.delay, o.calls, o.http2)
		if err != nil {
			return err
		}
		if o.asJSON {
			return report.JSON(stdout, measured)
		}
		return writeModelReport(stdout, measured)
	}
	measured, err := bench.Run(ctx, config)
	if err != nil {
		return err
	}
	if o.asJSON {
		return report.JSON(stdout, measured)
	}
	return writeReport(stdout, measured)
}

func writeModelReport(w io.Writer, r *bench.ModelReport) error {
	_, err := fmt.Fprintf(w, `%d rollouts, %d at once, of %d turns of a model that takes %.1f s each
%8.2f s, %.2f times the %.1f s that the model alone takes
%8.2f s of processor time, model included, and %.2f s that the host of this machine took for something else
%8d requests
%8.0f MB of memory at most, model included
`, r.Rollouts, r.Parallel, r.Chain, r.Delay, r.Wall, r.Ratio, r.Delay*float64(r.Chain), r.CPU, r.Stolen, r.Requests, float64(r.PeakBytes)/1e6)
	return err
}

func benchSpec(parallel int) (sweep.Spec, error) {
	agent, err := player.Parse(worldv1.Role_ROLE_AGENT, "oracle")
	if err != nil {
		return sweep.Spec{}, err
	}
	user, err := player.Parse(worldv1.Role_ROLE_USER, "scripted")
	if err != nil {
		return sweep.Spec{}, err
	}
	return sweep.Spec{Agents: []*agentgwv1.Player{agent}, Users: []*agentgwv1.Player{user}, Trials: 1, Parallel: parallel}, nil
}

func writeReport(w io.Writer, r *bench.Report) error {
	lines := []string{
		fmt.Sprintf("%d rollouts of %.1f messages, %d at once, in %.2f s (%.2f s of processor time)", r.Rollouts, r.Messages, r.Parallel, r.Wall, r.CPU),
		fmt.Sprintf("%8.0f rollouts per second", r.PerSecond),
		fmt.Sprintf("%8.0f rollouts per second and core, %.2f ms of processor time each", r.PerCoreSecond, r.CPUMillis),
		fmt.Sprintf("%8.2f ms p50, %.2f ms p99 from first to last message under load", r.BusyP50Millis, r.BusyP99Millis),
		fmt.Sprintf("%8.2f ms p50, %.2f ms p99 alone", r.AloneP50Millis, r.AloneP99Millis),
		fmt.Sprintf("%8.0f bytes of heap per idle session", r.IdleSessionBytes),
		"processor time by layer:",
	}
	for _, share := range r.Shares {
		lines = append(lines, fmt.Sprintf("%7.1f%% %s", 100*share.Share, share.Layer))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
