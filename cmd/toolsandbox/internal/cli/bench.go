package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/bench"
	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/engine"
	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/sweep"
	"github.com/toolsandbox/toolsandbox/internal/launch"
	"github.com/toolsandbox/toolsandbox/internal/mesh"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

func newBench() *cobra.Command {
	var from catalogue
	var asJSON bool
	var profile string
	rollouts, parallel := 5000, 64
	cmd := &cobra.Command{
		Use:   "bench [NAME...]",
		Short: "Measure scripted rollouts through all services in this process",
		Long: `bench plays the scenarios' own solutions through the four services, the bus, the disk and the evaluator of one
process, and prints what one rollout costs. It measures the real path; only result files are not written.`,
		Example: "  toolsandbox bench\n  toolsandbox bench --rollouts 20000 --json",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if rollouts < 1 || parallel < 1 || parallel > 100000 {
				return launch.Usage("--rollouts and --parallel: %d and %d given, expected at least 1", rollouts, parallel)
			}
			scenarios, err := from.load(args)
			if err != nil {
				return err
			}
			dir, err := os.MkdirTemp("", "toolsandbox-bench-")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
			spec, err := benchSpec(parallel)
			if err != nil {
				return err
			}
			spec.Scenarios = scenarios
			services := engine.DefaultConfig()
			services.Dir, services.Orchestrator.Parallel, services.ToolHost.Live = dir, parallel, 1<<20
			log := launch.DefaultLog()
			log.Level = "warn"
			report, err := bench.Run(cmd.Context(), bench.Config{
				Engine: services, Parts: mesh.Parts{Logger: log.New(cmd.ErrOrStderr())}, Spec: spec, Rollouts: rollouts, Profile: profile,
			})
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), report)
			}
			return writeReport(cmd.OutOrStdout(), report)
		},
	}
	from.register(cmd.Flags())
	cmd.Flags().IntVar(&rollouts, "rollouts", rollouts, "rollouts to measure")
	cmd.Flags().IntVarP(&parallel, "parallel", "p", parallel, "rollouts at once")
	cmd.Flags().StringVar(&profile, "cpu-profile", "", "file for the CPU profile of the measured sweep")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
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
