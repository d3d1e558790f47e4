package play

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// createSweep creates the sweep, or continues the directory's, and records that.
func (o *Options) createSweep(ctx context.Context, prepared *sweep.Sweep, directory *directory, run *results.Run) (total, done int, err error) {
	if o.resume { // noted before the round starts: a number is not used twice, and an unused one is harmless
		if err := results.WriteRun(directory.path, run); err != nil {
			return 0, 0, err
		}
		var damaged []string
		for _, rollout := range run.Damaged() {
			damaged = append(damaged, rollout.ID)
		}
		return prepared.Resume(ctx, run.SweepID, run.Round(), damaged)
	}
	for {
		if total, err = claimSweep(ctx, prepared, directory, run); !prepared.Disclaim(err) {
			return total, 0, err
		}
	}
}

// claimSweep claims an id and creates the sweep under it.
func claimSweep(ctx context.Context, prepared *sweep.Sweep, directory *directory, run *results.Run) (total int, err error) {
	run.SweepID, err = prepared.Claim(ctx)
	if errors.Is(err, sweep.ErrHasResults) {
		return 0, process.UsageErrorf("--sweep-id: %s: %w: choose another one", prepared.ID(), err)
	}
	if err != nil {
		return 0, err
	}
	// Noted before the sweep begins: --resume creates what a run lacks that is killed in between.
	if err := results.WriteRun(directory.path, run); err != nil {
		return 0, err
	}
	total, err = prepared.Create(ctx)
	if refused(err) {
		err = errors.Join(err, storage.Remove(directory.runFile()))
	}
	return total, err
}

// refused reports whether the orchestrator has not created a sweep, and never will.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.AlreadyExists, codes.ResourceExhausted, codes.OutOfRange, codes.NotFound:
		return true
	}
	return false
}
