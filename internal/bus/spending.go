package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

func sweepSpendingSubject(sweepID string) string { return "sweep." + sweepID + ".spending" }

// Spending returns what a sweep may spend and whether that is used up, with the revision that
// SetSpending wants. Of a sweep of which nobody has said anything it is empty, and the revision is
// 0.
func (b *Bus) Spending(ctx context.Context, sweepID string) (*busv1.SweepSpending, uint64, error) {
	msg, err := b.last(ctx, sweepStream, sweepSpendingSubject(sweepID))
	if errors.Is(err, ErrNotFound) {
		return &busv1.SweepSpending{}, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read spending: %w", err)
	}
	spending, err := decode[busv1.SweepSpending](msg.Subject, msg.Data)
	return spending, msg.Sequence, err
}

// SetSpending stores it in place of the revision, or fails with ErrFenced if that is not the last
// one any more.
func (b *Bus) SetSpending(ctx context.Context, sweepID string, spending *busv1.SweepSpending, revision uint64) error {
	raw, err := proto.Marshal(spending)
	if err != nil {
		return fmt.Errorf("store spending of %s: %w", sweepID, err)
	}
	subject := sweepSpendingSubject(sweepID)
	_, repeated, err := b.publish(ctx, subject, raw, jetstream.WithExpectLastSequencePerSubject(revision))
	if isWrongSequence(err) && repeated {
		// The acknowledgement may be what was lost.
		if last, lastErr := b.last(ctx, sweepStream, subject); lastErr == nil && bytes.Equal(last.Data, raw) {
			return nil
		}
	}
	if isWrongSequence(err) {
		return fmt.Errorf("store spending of %s: %w", sweepID, ErrFenced)
	}
	if err != nil {
		return fmt.Errorf("store spending of %s: %w", sweepID, err)
	}
	return nil
}

// Queued returns how many rollouts of a sweep are in the queue: those that wait and those that are
// played.
func (b *Bus) Queued(ctx context.Context, sweepID string) (int, error) {
	info, err := b.info(ctx, jobStream, sweepJobSubject(sweepID))
	if err != nil {
		return 0, fmt.Errorf("count jobs: %w", err)
	}
	return len(info.State.Subjects), nil
}
