package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// Plan returns the plan of a sweep and the time when it was stored, for display only. The error is
// ErrNotFound if there is none.
func (b Sweeps) Plan(ctx context.Context, sweepID string) (*busv1.Sweep, time.Time, error) {
	msg, err := b.lastMessage(ctx, sweepStream, sweepPlanSubject(sweepID))
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read sweep: %w", err)
	}
	sweep, err := decode[busv1.Sweep](msg.Subject, msg.Data)
	return sweep, msg.Time, err
}

// Backlog returns the number of a sweep's rollouts that orchestrators hold, and of those that are
// queued. A dead orchestrator holds its rollouts until the lease ends.
func (b Jobs) Backlog(ctx context.Context, sweepID string) (delivered, queued int, err error) {
	err = attempt(ctx, jobStream, func(ctx context.Context) error {
		consumer, err := b.streams[jobStream].Consumer(ctx, jobConsumer+sweepID)
		if err == nil {
			info := consumer.CachedInfo()
			delivered, queued = info.NumAckPending, int(info.NumPending)
		}
		return err
	})
	if errors.Is(err, jetstream.ErrConsumerNotFound) { // the queue was never opened
		queued, err = b.Queued(ctx, sweepID)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("count jobs: %w", err)
	}
	return delivered, queued, nil
}
