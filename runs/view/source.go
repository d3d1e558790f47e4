package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/pause"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/interchange"
	"github.com/toolsandbox/toolsandbox/runs/play"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/storage"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// Source is a run that the viewer shows. A result directory, with files or tables, and a sweep of
// an installation are sources. It is safe for concurrent use.
type Source interface {
	// Run returns the run with the rollouts that have ended so far.
	Run(ctx context.Context) (*analysis.Run, error)
	// Trajectory reads a rollout of the last Run with the tables of schema, without tables if it is
	// nil. The error wraps fs.ErrNotExist if the source has no trajectory of it.
	Trajectory(ctx context.Context, rollout string, schema *world.Schema) (*Trajectory, error)
	// Follow calls changed with the progress about once a second until the run has ended; a last call
	// of Run then returns all. It returns nil at once for a run that nobody plays.
	Follow(ctx context.Context, changed func(report.SweepDetail)) error
}

// Trajectory is what happened in a rollout.
type Trajectory struct {
	*resultfile.Trajectory
	// Turns are the turns of models, by the indices of their first messages, as far as the source has
	// kept them. Problem says why they cannot be read.
	Turns   map[int]results.Turn
	Problem string
}

// settleWait bounds the wait for the files of a run whose sweep has ended, settlePoll is the
// interval of looking for them.
const (
	settleWait = time.Minute
	settlePoll = 200 * time.Millisecond
)

// directory is the result directory of a run, or the file of one of another tool.
type directory struct {
	path        string
	acceptEdits bool
	warnings    io.Writer
	scenarios   Scenarios

	mu       sync.Mutex
	followed bool         // Follow has returned
	live     *sweepSource // while a process plays the run
	loaded   *analysis.Run
}

// OpenDirectory returns the run in a directory. A process may play it at the moment. warnings gets
// what analysis.Load warns of. The error says what the directory lacks.
func OpenDirectory(ctx context.Context, path string, acceptEdits bool, warnings io.Writer, scenarios Scenarios) (Source, error) {
	path, _ = results.Locate(path)
	d := &directory{path: path, acceptEdits: acceptEdits, warnings: warnings, scenarios: scenarios}
	if d.isPlayed() {
		return d, nil
	}
	for _, name := range []string{results.SummaryFile, results.TablesDirectory} {
		if found, err := storage.Exists(storage.Join(path, name)); found || err != nil {
			return d, err
		}
	}
	_, err := d.load(ctx) // it says what is missing
	return d, err
}

// isPlayed reports whether a process may play the run.
func (d *directory) isPlayed() bool {
	run, err := results.ReadRunFile(d.path)
	if err != nil || run.Ended != nil {
		return false
	}
	_, err = os.Stat(play.Socket(d.path))
	return err == nil
}

// isWritten reports whether the run has its results: the summary comes after the end in RunFile.
func (d *directory) isWritten(ctx context.Context) bool {
	reader, err := results.Open(ctx, d.path, nil)
	if err == nil {
		_, err = reader.Summary()
	}
	return err == nil
}

func (d *directory) load(ctx context.Context) (*analysis.Run, error) {
	run, err := interchange.Load(ctx, d.path, d.acceptEdits, d.warnings)
	if errors.Is(err, interchange.ErrFormat) {
		return nil, process.UsageErrorf("RUN: %w", err)
	}
	return run, err
}

func (d *directory) sweep() *sweepSource {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live
}

// Run implements Source.
func (d *directory) Run(ctx context.Context) (*analysis.Run, error) {
	if live := d.sweep(); live != nil {
		return live.Run(ctx)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.followed && d.isPlayed() { // Follow is about to find out
		return analysis.NewRun(d.path, &resultfile.Summary{}, nil), nil
	}
	if d.loaded == nil {
		var err error
		if d.loaded, err = d.load(ctx); err != nil {
			return nil, err
		}
	}
	return d.loaded, nil
}

// Trajectory implements Source.
func (d *directory) Trajectory(ctx context.Context, rollout string, schema *world.Schema) (*Trajectory, error) {
	if live := d.sweep(); live != nil {
		return live.Trajectory(ctx, rollout, schema)
	}
	run, err := d.Run(ctx)
	if err != nil {
		return nil, err
	}
	return readTrajectory(run.Reader(), rollout, schema)
}

func readTrajectory(reader *results.Reader, rollout string, schema *world.Schema) (*Trajectory, error) {
	if reader == nil {
		return nil, fmt.Errorf("read %s: %w", rollout, fs.ErrNotExist)
	}
	read := new(resultfile.Trajectory)
	var err error
	if schema != nil {
		read, err = reader.Trajectory(rollout, schema)
	} else {
		read.Messages, err = reader.Messages(rollout)
	}
	if err != nil {
		return nil, err
	}
	turns, err := reader.Turns(rollout)
	if err != nil {
		return &Trajectory{Trajectory: read, Problem: err.Error()}, nil
	}
	return &Trajectory{Trajectory: read, Turns: turns}, nil
}

// Follow implements Source. It asks the process that plays the run, at its socket.
func (d *directory) Follow(ctx context.Context, changed func(report.SweepDetail)) error {
	defer func() {
		d.mu.Lock()
		d.followed = true
		d.mu.Unlock()
	}()
	played, err := results.ReadRunFile(d.path)
	if err != nil || !d.isPlayed() {
		return nil
	}
	var last report.SweepDetail
	answered := false
	// However the connection ends, the files of the run tell what has become of it.
	_ = play.WithSocket(d.path)(ctx, standalone.DefaultConfig(), rpc.Options{Logger: slog.New(slog.DiscardHandler)}, func(ctx context.Context, node *rpc.Node) error {
		live := newSweep(orchestratorv1.NewOrchestratorServiceClient(node.Conn(rpc.Orchestrator)), played.SweepID, d.path, d.scenarios)
		live.fork = played.Fork
		d.mu.Lock()
		d.live = live
		d.mu.Unlock()
		return live.Follow(ctx, func(now report.SweepDetail) {
			last, answered = now, true
			changed(now)
		})
	})
	if ctx.Err() != nil {
		return nil
	}
	settled, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	d.settle(settled)
	run, readErr := results.ReadRunFile(d.path)
	ended := readErr == nil && run.Ended != nil
	if ended || !answered {
		d.mu.Lock()
		d.live = nil
		d.mu.Unlock()
	}
	if !answered { // the socket is left of a process that was killed
		return nil
	}
	changed(last)
	if ended {
		return nil
	}
	return report.Warn(d.warnings, "the process that played the run in %s has ended, but not its run: what it sent is shown", d.path)
}

// settle waits until the process that plays the run has written its results, or is gone.
func (d *directory) settle(ctx context.Context) {
	for d.isPlayed() || !d.isWritten(ctx) {
		target, closeTarget, err := rpc.SocketTarget(ctx, play.Socket(d.path))
		if err != nil && target == "" {
			return
		}
		if closeTarget() != nil || !pause.For(ctx, settlePoll) {
			return
		}
	}
}

// explainMissing says why there is no trajectory.
func explainMissing(directory string, err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "The run has no trajectory of this rollout."
	}
	return report.WithAdvice(directory, err).Error()
}

// mostSources is the largest number of runs on the pages.
const mostSources = 8

// OpenAll opens the runs that arguments name: directories, also of experiments, and with an
// orchestrator ids of sweeps. Without arguments it is the only sweep of the orchestrator.
func OpenAll(
	ctx context.Context, args []string, acceptEdits bool, warnings io.Writer, scenarios Scenarios, orchestrator orchestratorv1.OrchestratorServiceClient,
) ([]Source, error) {
	if len(args) == 0 && orchestrator == nil {
		return nil, process.UsageErrorf("RUN: missing, expected a run's directory")
	}
	if len(args) == 0 {
		id, err := sweep.Only(ctx, orchestrator)
		if errors.Is(err, sweep.ErrSeveral) {
			return nil, process.UsageErrorf("RUN: missing: %w", err)
		}
		if err != nil {
			return nil, err
		}
		args = []string{id}
	}
	var sources []Source
	for _, arg := range args {
		if _, err := os.Stat(arg); errors.Is(err, fs.ErrNotExist) && orchestrator != nil && !storage.IsBucket(arg) {
			source, err := openSweep(ctx, orchestrator, arg, scenarios)
			if unknown, ok := errors.AsType[*sweep.UnknownError](err); ok {
				return nil, process.UsageErrorf("RUN: %w", unknown)
			}
			if err != nil {
				return nil, err
			}
			sources = append(sources, source)
			continue
		}
		dirs, err := report.RunsOf(arg, warnings)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			source, err := OpenDirectory(ctx, dir, acceptEdits, warnings, scenarios)
			if err != nil {
				return nil, err
			}
			sources = append(sources, source)
		}
	}
	if len(sources) > mostSources {
		return nil, process.UsageErrorf("RUN: %d runs given, expected at most %d", len(sources), mostSources)
	}
	return sources, nil
}
