package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// opened is a run with its directory locked, its services running and its results open. Close it.
type opened struct {
	*Options
	closers
	spec      sweep.Spec
	directory *directory
	services  *standalone.Installation
	collector *collector
	stderr    io.Writer
}

// closers closes what was opened, in reverse.
type closers struct{ all []func() error }

func (c *closers) onClose(f func() error) { c.all = append(c.all, f) }

// close returns err with what went wrong.
func (c *closers) close(err error) error {
	for _, f := range slices.Backward(c.all) {
		err = standalone.Join(err, f())
	}
	return err
}

// openRun opens a run on running services, or on its own if those are nil. The returned context
// ends when a person at the terminal leaves.
func (o *Options) openRun(
	ctx context.Context, prepared preparedRun, running *standalone.Installation, stdin io.Reader, stdout, stderr io.Writer,
) (_ context.Context, run *opened, err error) {
	directory, record, err := o.open(prepared)
	if err != nil {
		return nil, nil, err
	}
	run = &opened{Options: o, spec: prepared.spec, directory: directory, services: running, stderr: stderr}
	run.onClose(directory.release)
	if running == nil {
		run.services, err = o.start(ctx, stderr, &run.closers)
	}
	if err == nil {
		ctx, err = run.begin(ctx, record, stdin, stdout)
	}
	if err != nil {
		return nil, nil, run.close(err)
	}
	return ctx, run, nil
}

// start starts the services of the flags, or connects to remote ones.
func (o *Options) start(ctx context.Context, stderr io.Writer, closing *closers) (*standalone.Installation, error) {
	traces, err := telemetry.Start(ctx, o.telemetry, "toolsandbox")
	if err != nil {
		return nil, err
	}
	logger := o.log.New(stderr)
	closing.onClose(func() error { traces.Finish(ctx, logger); return nil })
	running, err := standalone.Start(ctx, o.installation, rpc.Options{Logger: logger, Telemetry: traces})
	if err != nil {
		return nil, err
	}
	closing.onClose(running.Close)
	return running, nil
}

// begin opens what collects the results of a run and, for a person who plays, the terminal.
func (r *opened) begin(ctx context.Context, record *results.Run, stdin io.Reader, stdout io.Writer) (context.Context, error) {
	ctx, leave := context.WithCancel(ctx)
	r.onClose(func() error { leave(); return nil })
	people, err := servePlayers(ctx, stdin, stdout, r.spec, r.directory, leave)
	if err != nil {
		return nil, err
	}
	r.onClose(people.close)
	if r.installation.Network.Remote {
		follow := process.LimitFollowing(r.spec.Rollouts())
		r.onClose(func() error { follow(); return nil })
	}
	r.collector = newCollector(ctx, r.spec, r.euroeval, r.directory, record)
	return ctx, r.collector.open(r.stderr)
}

// create creates the sweep and starts the collector. It returns the stored results of a resumed
// run. With nothing, no rollout is queued.
func (r *opened) create(ctx context.Context, nothing bool) (stored map[string]bool, err error) {
	connections, record := r.services.Node(), r.collector.record
	prepared, err := sweep.Prepare(ctx, connections.Conn(rpc.Orchestrator), connections.Conn(rpc.Evaluator), r.spec)
	if err != nil {
		return nil, err
	}
	if nothing {
		prepared.Select(nil)
	}
	played := false
	if r.resume {
		stored, err = prepared.Stored(ctx, record.SweepID)
		if errors.Is(err, sweep.ErrDeleted) { // its files are whole
			return nil, process.UsageErrorf("--resume: %w, so nothing of the run in %s can be played again; its files stay", err, r.directory.path)
		}
		if err != nil {
			return nil, err
		}
		if err := r.checkResults(r.collector, stored, r.stderr); err != nil {
			return nil, err
		}
		played = prepared.IsComplete(stored) && len(record.Damaged()) == 0
	}
	if !played {
		if err := r.checkPlayers(ctx, connections.Conn(rpc.Orchestrator), r.spec, r.stderr); err != nil {
			return nil, &ownError{err}
		}
	}
	if !r.resume {
		if record.Probe, err = r.probePlayers(ctx, connections.Conn(rpc.Orchestrator), r.spec, r.stderr); err != nil {
			return nil, &ownError{err}
		}
	}
	total, done, err := r.createSweep(ctx, prepared, r.directory, record)
	if err != nil && ctx.Err() != nil && r.installation.Network.Remote {
		return nil, fmt.Errorf("%w: sweep %s may continue: stop it with %s", errCreating, prepared.ID(), sweep.Command(r.installation.Network, "cancel", prepared.ID()))
	}
	if err != nil {
		return nil, err
	}
	r.playing = prepared.ID()
	if record.SpecificationSHA256, err = r.directory.specify(r.spec); err != nil {
		return nil, err
	}
	r.collector.start(prepared, evaluatorv1.NewEvaluatorServiceClient(connections.Conn(rpc.Evaluator)), report.NewProgress(r.stderr, total, done))
	return stored, nil
}

// play creates the sweep and collects its results.
func (r *opened) play(ctx context.Context) error {
	ctx, release := r.services.Watched(ctx, r.collector.stop)
	defer release()
	if _, err := r.create(ctx, false); err != nil {
		return cause(ctx, err)
	}
	return cause(ctx, r.collector.planned.Watch(ctx, r.collector.progress.Report, r.collector.add))
}

// cause returns why an operation of a run failed: why its services did, if they did.
func cause(ctx context.Context, err error) error {
	if errors.Is(err, errCreating) {
		return err
	}
	return standalone.Cause(ctx, err)
}
