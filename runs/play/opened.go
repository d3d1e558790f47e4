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

// opened is a run whose directory and services are open. Close it.
type opened struct {
	*Options
	spec      sweep.Spec
	directory *directory
	services  *standalone.Installation
	collector *collector
	stderr    io.Writer
	closing   []func() error // in the order of opening
}

// openRun opens the directory of a run and services of its own. The context of the run ends when a
// person at the terminal leaves.
func (o *Options) openRun(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (_ context.Context, run *opened, err error) {
	prepared, err := o.prepareRun(ctx, args, stderr)
	if err != nil {
		return nil, nil, err
	}
	directory, record, err := o.open(args, prepared.setFlags, prepared.spec)
	if err != nil {
		return nil, nil, err
	}
	run = &opened{Options: o, spec: prepared.spec, directory: directory, stderr: stderr}
	run.onClose(directory.release)
	defer func() {
		if err != nil {
			err = run.close(err)
		}
	}()
	traces, err := telemetry.Start(ctx, o.telemetry, "toolsandbox")
	if err != nil {
		return nil, nil, err
	}
	logger := o.log.New(stderr)
	run.onClose(func() error { traces.Finish(ctx, logger); return nil })
	if run.services, err = standalone.Start(ctx, o.installation, rpc.Options{Logger: logger, Telemetry: traces}); err != nil {
		return nil, nil, err
	}
	run.onClose(run.services.Close)
	ctx, err = run.begin(ctx, record, stdin, stdout)
	return ctx, run, err
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
		follow := process.LimitFollowing(rolloutsOf(r.spec))
		r.onClose(func() error { follow(); return nil })
	}
	r.collector = newCollector(ctx, r.spec, r.euroeval, r.directory, record)
	return ctx, r.collector.open(r.stderr)
}

func (r *opened) onClose(f func() error) { r.closing = append(r.closing, f) }

// close closes what is open, and returns err with what went wrong.
func (r *opened) close(err error) error {
	for _, f := range slices.Backward(r.closing) {
		err = standalone.Join(err, f())
	}
	return err
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
		if stored, err = prepared.Stored(ctx, record.SweepID); err != nil {
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
