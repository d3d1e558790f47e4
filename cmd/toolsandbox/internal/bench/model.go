package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toolsandbox/toolsandbox/cmd/toolsandbox/internal/standalone"
	"github.com/toolsandbox/toolsandbox/internal/descriptor"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// ModelReport is what rollouts cost whose agent is a slow model.
type ModelReport struct {
	Rollouts int `json:"rollouts"`
	Parallel int `json:"parallel"`
	// Delay is how long the model thinks about each turn, Chain how often in a row it does in one
	// rollout.
	Delay float64 `json:"delay_seconds"`
	Chain int     `json:"chain"`
	// Wall covers the sweep from its creation to the last score; Ratio is to Chain times Delay,
	// below which no program can be.
	Wall  float64 `json:"wall_seconds"`
	Ratio float64 `json:"ratio"`
	CPU   float64 `json:"cpu_seconds"`
	// Stolen is the time of all processors together in which a virtual machine could have run, and
	// its host ran something else; 0 where that is not known.
	Stolen float64 `json:"stolen_seconds"`
	// Requests is how many the model was asked.
	Requests int64 `json:"requests"`
	// PeakBytes is the largest memory that the process had, model included.
	PeakBytes int64 `json:"peak_bytes"`
}

// Model measures rollouts that are played all at once against a model behind HTTP which answers
// each request after a delay: calls turns with a call, then a text. With http2 requests share
// connections.
func Model(ctx context.Context, cfg Config, delay time.Duration, calls int, http2 bool) (report *ModelReport, err error) {
	if !http2 { // both ends of a connection are in this process
		if err := descriptor.Check(2 * min(cfg.Spec.Parallel, cfg.Rollouts)); err != nil {
			return nil, fmt.Errorf("--parallel %d: %w: raise it, lower --parallel, or let requests share connections with --model-http2", cfg.Spec.Parallel, err)
		}
	}
	served, err := serveModel(ctx, delay, calls, http2)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, served.close()) }()
	running, err := standalone.Start(ctx, cfg.Engine, cfg.Parts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	m := &meter{cfg: cfg, orchestrator: running.Node().Conn(rpc.Orchestrator), evaluator: running.Node().Conn(rpc.Evaluator)}
	spec := cfg.Spec
	spec.ID, spec.Trials = "slow", max(cfg.Rollouts/len(spec.Scenarios), 1)
	spec.Agents = []*agentgwv1.Player{{Name: "slow", Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{
		Provider: "openai", Model: "slow", BaseUrl: served.address,
	}}}}
	var results []*busv1.Result
	stolen := stolenTime()
	wall, cpu, err := m.profiled(func() (err error) {
		_, results, err = m.play(ctx, spec)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, served.failure())
	}
	if least := int64(min(calls, 1)); served.calling.Load() < least {
		return nil, errors.New("the model found no tool to call in any request")
	}
	report = &ModelReport{
		Rollouts: len(results), Parallel: spec.Parallel, Delay: delay.Seconds(), Chain: calls + 1, Wall: wall.Seconds(), CPU: cpu.Seconds(),
		Stolen:   (stolenTime() - stolen).Seconds(),
		Requests: served.requests.Load(), PeakBytes: peakMemory(),
	}
	report.Ratio = report.Wall / (report.Delay * float64(report.Chain))
	return report, nil
}

// ticksPerSecond is the unit of /proc/stat.
const ticksPerSecond = 100

// stolenTime returns the time that the host took since this machine began; 0 where no /proc/stat
// says it.
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

// peakMemory returns the largest resident set that this process had.
func peakMemory() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Maxrss << 10
}
