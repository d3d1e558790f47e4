package sweep

import (
	"context"
	"errors"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/pause"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
)

// Top looks again and again at what the sweeps of an installation do. It is not safe for concurrent
// use.
type Top struct {
	orchestrator orchestratorv1.OrchestratorServiceClient
	last         map[string]int64 // rollouts with a result, by sweep
	at           time.Time        // of the last look
}

// NewTop returns a Top of an installation.
func NewTop(orchestrator orchestratorv1.OrchestratorServiceClient) *Top {
	return &Top{orchestrator: orchestrator}
}

// Look returns the sweeps that are not over, by id. Rates are those since the last look, and unset
// at the first look at a sweep.
func (t *Top) Look(ctx context.Context) ([]report.SweepDetail, error) {
	infos, err := List(ctx, t.orchestrator)
	if err != nil {
		return nil, err
	}
	now, done := time.Now(), make(map[string]int64)
	sweeps := []report.SweepDetail{}
	for _, info := range infos {
		if _, seen := t.last[info.GetId()]; report.NewSweep(info).Over() && !seen {
			continue
		}
		info, err := Get(ctx, t.orchestrator, info.GetId())
		if _, gone := errors.AsType[*UnknownError](err); gone || info.GetDeleted() {
			continue
		}
		if err != nil {
			return nil, err
		}
		detail := report.NewSweepDetail(info)
		if before, seen := t.last[detail.ID]; seen {
			rate := float64(detail.Done-before) / now.Sub(t.at).Seconds()
			detail.Rate = &rate
		}
		if !detail.Over() {
			done[detail.ID] = detail.Done
		}
		sweeps = append(sweeps, detail)
	}
	t.last, t.at = done, now
	return sweeps, nil
}

// Follow calls show with each look at an interval until ctx is done; then it returns nil.
func (t *Top) Follow(ctx context.Context, interval time.Duration, show func([]report.SweepDetail) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		sweeps, err := t.Look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = show(sweeps)
		}
		if err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Once returns the second look, so that it has rates.
func (t *Top) Once(ctx context.Context, interval time.Duration) ([]report.SweepDetail, error) {
	if _, err := t.Look(ctx); err != nil {
		return nil, err
	}
	if !pause.For(ctx, interval) {
		return nil, ctx.Err()
	}
	return t.Look(ctx)
}
