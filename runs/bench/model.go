package bench

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// ModelReport is the cost of rollouts whose agent is a model.
type ModelReport struct {
	Rollouts int `json:"rollouts"`
	Parallel int `json:"parallel"`
	// Chain is the largest number of turns of the model in one rollout.
	Chain int `json:"chain"`
	// Wall covers the sweep from its creation to the last score.
	Wall float64 `json:"wall_seconds"`
	// Delay is the model's time per turn, from the caller. Ratio is Wall divided by Chain times
	// Delay, the lower bound of any program; 0 if Delay is 0.
	Delay float64 `json:"delay_seconds"`
	Ratio float64 `json:"ratio"`
	CPU   float64 `json:"cpu_seconds"`
	// StealTime is the steal time of all processors, taken by the host of a virtual machine; 0 if
	// unknown.
	StealTime float64 `json:"steal_seconds"`
	// PeakBytes is the peak memory of the process.
	PeakBytes int64 `json:"peak_bytes"`
}

// Model measures rollouts whose agent is a model that takes delay for each answer; 0 if unknown.
func Model(ctx context.Context, cfg Config, delay time.Duration) (report *ModelReport, err error) {
	running, err := standalone.Start(ctx, cfg.Installation, cfg.Options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	m := &meter{cfg: cfg, orchestrator: running.Node().Conn(rpc.Orchestrator), evaluator: running.Node().Conn(rpc.Evaluator)}
	spec := cfg.Spec
	spec.ID = "model"
	var prepared *sweep.Sweep
	var results []*busv1.Result
	stolen := stolenTime()
	took, err := m.profiled(func() (err error) {
		prepared, results, err = m.play(ctx, spec)
		return err
	})
	if err != nil {
		return nil, err
	}
	report = &ModelReport{
		Rollouts: len(results), Parallel: spec.Parallel, Delay: delay.Seconds(), Wall: took.wall.Seconds(), CPU: took.processor.Seconds(),
		StealTime: (stolenTime() - stolen).Seconds(), PeakBytes: peakMemory(),
	}
	err = sample(ctx, prepared, results, func(trajectory *orchestratorv1.GetTrajectoryResponse) {
		report.Chain = max(report.Chain, len(trajectory.GetUsage()))
	})
	if ideal := report.Delay * float64(report.Chain); ideal > 0 {
		report.Ratio = report.Wall / ideal
	}
	return report, err
}

// ticksPerSecond is the unit of /proc/stat.
const ticksPerSecond = 100

// stolenTime returns the steal time since boot; 0 without /proc/stat.
func stolenTime() time.Duration {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(first) // cpu user nice system idle iowait irq softirq steal …
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0
	}
	ticks, err := strconv.ParseInt(fields[8], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// peakMemory returns the peak resident set of this process.
func peakMemory() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Maxrss << 10
}
