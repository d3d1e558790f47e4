package bus

import (
	"context"
	"fmt"
)

// RemoveSweepData removes the jobs, logs, table versions, results and recordings of a sweep. Its
// plan and its control state stay. It is idempotent, and a call that failed may have removed a
// part. Nothing of the sweep may run.
func (b Sweeps) RemoveSweepData(ctx context.Context, sweepID string) error {
	subjects := map[string]string{
		sweepJobSubject(sweepID): jobStream, sweepResultSubject(sweepID): resultStream,
		sweepTurnsSubject(sweepID): recordingStream, "answer." + sweepID + ".>": recordingStream,
	}
	for shard := range b.shards {
		subjects[logSubject(shard, sweepID)+".>"] = logStream(shard)
		subjects[snapshotSubject(shard, sweepID)+".>"] = snapshotStream(shard)
	}
	for subject, stream := range subjects {
		if err := b.purge(ctx, stream, subject); err != nil {
			return fmt.Errorf("remove data of sweep %s: %w", sweepID, err)
		}
	}
	return nil
}

// RemovePlan removes the plan of a sweep, and what its control state replaced. It is idempotent.
func (b Sweeps) RemovePlan(ctx context.Context, sweepID string) error {
	err := b.purge(ctx, sweepStream, sweepPlanSubject(sweepID))
	if err == nil {
		err = b.purgeOlder(ctx, sweepStream, sweepControlSubject(sweepID))
	}
	if err != nil {
		return fmt.Errorf("remove sweep %s: %w", sweepID, err)
	}
	return nil
}

// RemoveControl removes the control state of a sweep without a plan, and with it the mark that its
// id was used. It is idempotent.
func (b Controls) RemoveControl(ctx context.Context, sweepID string) error {
	if err := b.purge(ctx, sweepStream, sweepControlSubject(sweepID)); err != nil {
		return fmt.Errorf("remove control of sweep %s: %w", sweepID, err)
	}
	return nil
}
