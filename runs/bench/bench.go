// Package bench measures the real path: rollouts through all four services of one process, bus,
// disk and scoring included.
package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

const (
	// sampled is the approximate number of trajectories that are read.
	sampled = 500
	// idleSessions is the number of sessions opened to measure the memory of one.
	idleSessions = 10_000
	// openers is the number of sessions opened concurrently.
	openers = 32
	// alone is the number of rollouts timed one at a time.
	alone = 100
)

// Report is the result. Times are in seconds unless named otherwise.
type Report struct {
	Rollouts int     `json:"rollouts"`
	Parallel int     `json:"parallel"`
	Messages float64 `json:"messages_per_rollout"`
	// Wall and CPU cover the sweep from its creation to the last score.
	Wall float64 `json:"wall_seconds"`
	CPU  float64 `json:"cpu_seconds"`
	// PerSecond is rollouts per second of wall time; PerCoreSecond is rollouts per second of
	// processor time.
	PerSecond     float64 `json:"rollouts_per_second"`
	PerCoreSecond float64 `json:"rollouts_per_core_second"`
	// CPUMillis is processor time per rollout.
	CPUMillis float64 `json:"cpu_ms_per_rollout"`
	// Allocations and AllocatedBytes are of the heap, per rollout. They hardly depend on what else the
	// machine does.
	Allocations    float64 `json:"allocations_per_rollout"`
	AllocatedBytes float64 `json:"allocated_bytes_per_rollout"`
	// The times of one rollout from its first to its last message, with Parallel running
	// concurrently and alone.
	BusyP50Millis  float64 `json:"busy_p50_ms"`
	BusyP99Millis  float64 `json:"busy_p99_ms"`
	AloneP50Millis float64 `json:"alone_p50_ms"`
	AloneP99Millis float64 `json:"alone_p99_ms"`
	// IdleSessionBytes is the heap that an idle session keeps.
	IdleSessionBytes float64 `json:"idle_session_bytes"`
	// Shares splits the processor time of the sweep by the innermost known layer, largest first.
	Shares []Share `json:"shares"`
}

// Share is one layer's part of the processor time, 0 to 1.
type Share struct {
	Layer string  `json:"layer"`
	Share float64 `json:"share"`
}

// Config configures a measurement.
type Config struct {
	Installation standalone.Config
	Options      rpc.Options
	Spec         sweep.Spec
	// Profile receives the CPU profile of the sweep; empty for none.
	Profile string
}

// Run measures. The installation's directory must be empty.
func Run(ctx context.Context, cfg Config) (report *Report, err error) {
	running, err := standalone.Start(ctx, cfg.Installation, cfg.Options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	m := &meter{cfg: cfg, orchestrator: running.Node().Conn(rpc.Orchestrator), evaluator: running.Node().Conn(rpc.Evaluator)}
	report = &Report{Parallel: cfg.Spec.Parallel}
	warm := cfg.Spec
	warm.ID, warm.Trials = "warm", 1
	if _, _, err := m.play(ctx, warm); err != nil {
		return nil, err
	}
	if err := m.sweep(ctx, report); err != nil {
		return nil, err
	}
	if err := m.aloneTimes(ctx, report); err != nil {
		return nil, err
	}
	report.IdleSessionBytes, err = measureIdleHeap(ctx, running.Node().Conn(rpc.ToolHost), cfg.Spec.Scenarios[0].GetSetup())
	return report, err
}

type meter struct {
	cfg          Config
	profile      bytes.Buffer
	orchestrator grpc.ClientConnInterface
	evaluator    grpc.ClientConnInterface
}

// play runs a sweep to its end and returns it with its results.
func (m *meter) play(ctx context.Context, spec sweep.Spec) (*sweep.Sweep, []*busv1.Result, error) {
	prepared, err := sweep.Prepare(ctx, m.orchestrator, m.evaluator, spec)
	if err != nil {
		return nil, nil, err
	}
	if _, err := prepared.Create(ctx); err != nil {
		return nil, nil, err
	}
	var results []*busv1.Result
	err = prepared.Watch(ctx, nil, func(result *busv1.Result) error {
		if result.GetEnd().GetReason() == busv1.EndReason_END_REASON_INFRASTRUCTURE {
			return fmt.Errorf("rollout %s failed: %s", result.GetRollout().GetId(), result.GetEnd().GetDetail())
		}
		results = append(results, result)
		return nil
	})
	return prepared, results, err
}

// sweep measures throughput under load.
func (m *meter) sweep(ctx context.Context, report *Report) error {
	spec := m.cfg.Spec
	spec.ID = "measured"
	var prepared *sweep.Sweep
	var results []*busv1.Result
	took, err := m.profiled(func() (err error) {
		prepared, results, err = m.play(ctx, spec)
		return err
	})
	if err != nil {
		return err
	}
	played := float64(len(results))
	report.Rollouts = len(results)
	report.Wall, report.CPU = took.wall.Seconds(), took.processor.Seconds()
	report.PerSecond, report.PerCoreSecond = played/report.Wall, played/report.CPU
	report.CPUMillis = report.CPU * 1000 / played
	report.Allocations, report.AllocatedBytes = float64(took.allocations)/played, float64(took.bytes)/played
	messages := 0
	for _, result := range results {
		messages += int(result.GetMessageCount())
	}
	report.Messages = float64(messages) / played
	if report.Shares, err = shares(m.profile.Bytes()); err != nil {
		return err
	}
	report.BusyP50Millis, report.BusyP99Millis, err = times(ctx, prepared, results)
	return err
}

// profiled calls run under the profiler and returns what it took.
func (m *meter) profiled(run func() error) (usage, error) {
	m.profile.Reset()
	if err := pprof.StartCPUProfile(&m.profile); err != nil {
		return usage{}, fmt.Errorf("start profile: %w", err)
	}
	start, before := time.Now(), usageNow()
	err := run()
	took := usageNow().since(before)
	took.wall = time.Since(start)
	pprof.StopCPUProfile()
	if err == nil && m.cfg.Profile != "" {
		if err = os.WriteFile(m.cfg.Profile, m.profile.Bytes(), 0o644); err != nil {
			err = fmt.Errorf("write profile: %w", err)
		}
	}
	return took, err
}

// aloneTimes measures the time of one rollout when nothing else runs.
func (m *meter) aloneTimes(ctx context.Context, report *Report) error {
	spec := m.cfg.Spec
	spec.ID, spec.Parallel, spec.Trials = "alone", 1, max(alone/len(spec.Scenarios), 1)
	prepared, results, err := m.play(ctx, spec)
	if err != nil {
		return err
	}
	report.AloneP50Millis, report.AloneP99Millis, err = times(ctx, prepared, results)
	return err
}

// times returns median and 99th percentile of the rollouts' times in milliseconds.
func times(ctx context.Context, prepared *sweep.Sweep, results []*busv1.Result) (p50, p99 float64, err error) {
	var millis []float64
	err = sample(ctx, prepared, results, func(trajectory *orchestratorv1.GetTrajectoryResponse) {
		took := trajectory.GetUpdated().AsTime().Sub(trajectory.GetStarted().AsTime())
		millis = append(millis, float64(took)/float64(time.Millisecond))
	})
	if err != nil {
		return 0, 0, err
	}
	slices.Sort(millis)
	return millis[len(millis)/2], millis[len(millis)*99/100], nil
}

// sample calls look with the trajectories of some of the rollouts.
func sample(ctx context.Context, prepared *sweep.Sweep, results []*busv1.Result, look func(*orchestratorv1.GetTrajectoryResponse)) error {
	step := max(len(results)/sampled, 1)
	for i := 0; i < len(results); i += step {
		trajectory, err := prepared.Trajectory(ctx, results[i].GetRollout().GetId())
		if err != nil {
			return err
		}
		look(trajectory)
	}
	return nil
}

// measureIdleHeap opens sessions and returns the heap that each keeps.
func measureIdleHeap(ctx context.Context, conn grpc.ClientConnInterface, setup *setupv1.Setup) (float64, error) {
	client := toolhostv1.NewToolHostServiceClient(conn)
	before := heap()
	ids := make(chan int)
	errCh := make(chan error, openers)
	for range openers {
		go func() {
			var first error
			for i := range ids {
				if first == nil {
					_, first = client.CreateSession(ctx, &toolhostv1.CreateSessionRequest{SessionId: fmt.Sprintf("idle.%d", i), Setup: setup})
				}
			}
			errCh <- first
		}()
	}
	for i := range idleSessions {
		ids <- i
	}
	close(ids)
	var errs []error
	for range openers {
		errs = append(errs, <-errCh)
	}
	return max(float64(heap())-float64(before), 0) / idleSessions, errors.Join(errs...)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
