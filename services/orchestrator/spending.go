package orchestrator

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// spendingPoll is the pause between two looks at whether a sweep has spent what it may.
const spendingPoll = 250 * time.Millisecond

// limit stores what a sweep may spend from now on. It comes before the sweep's rollouts are queued.
func (s *server) limit(ctx context.Context, sweepID string, limit *agentgwv1.SpendLimit) error {
	next := &busv1.SweepSpending{Limit: limit}
	for {
		spending, revision, err := s.bus.Spending(ctx, sweepID)
		if err != nil || proto.Equal(spending, next) {
			return err
		}
		if err := s.bus.SetSpending(ctx, sweepID, next, revision); !errors.Is(err, bus.ErrFenced) {
			return err
		}
	}
}

// spent waits until a sweep has spent what it may and none of its rollouts is played any more, and
// returns why; "" if it has no limit.
func (s *server) spent(ctx context.Context, sweepID string) (string, error) {
	ticker := time.NewTicker(spendingPoll)
	defer ticker.Stop()
	for {
		spending, _, err := s.bus.Spending(ctx, sweepID)
		if err != nil || spending.GetLimit() == nil {
			return "", err
		}
		if reason := spending.GetExhausted(); reason != "" {
			queued, err := s.bus.Queued(ctx, sweepID)
			if err != nil {
				return "", err
			}
			if queued == 0 {
				return reason, nil
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
