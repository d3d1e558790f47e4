package bus

import (
	"bytes"
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// PublishResult stores the result of a rollout's round with create-if-absent. created reports
// whether this call stored it. It is idempotent.
func (b Scores) PublishResult(ctx context.Context, result *busv1.Result) (created bool, err error) {
	id := result.GetRollout().GetId()
	raw, err := proto.Marshal(result)
	if err != nil {
		return false, fmt.Errorf("publish result of %s: %w", id, err)
	}
	existing, err := b.create(ctx, resultStream, resultSubject(id, result.GetRound()), raw, func(msg *jetstream.RawStreamMsg) error {
		_, err := decodeResult(msg.Subject, msg.Sequence, msg.Data)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("publish result of %s: %w", id, err)
	}
	return existing == nil, nil
}

// Result returns the result of a rollout's last round. The error is ErrNotFound if there is none,
// even if an earlier round has one.
func (b Results) Result(ctx context.Context, rolloutID string) (*busv1.Result, error) {
	rounds, err := Controls{ControlUpdates(b)}.Rounds(ctx, SweepOf(rolloutID))
	if err != nil {
		return nil, err
	}
	return b.RoundResult(ctx, rolloutID, rounds.OfID(rolloutID))
}

// RoundResult returns the result of a rollout in a round. The error is ErrNotFound if there is
// none, or a foreign message in its place.
func (b Results) RoundResult(ctx context.Context, rolloutID string, round int32) (*busv1.Result, error) {
	msg, err := b.lastMessage(ctx, resultStream, resultSubject(rolloutID, round))
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	result, err := decodeResult(msg.Subject, msg.Sequence, msg.Data)
	if err != nil {
		return nil, fmt.Errorf("read result: %w: %w", ErrNotFound, err)
	}
	return result, nil
}

// PutSweep stores the plan of a sweep. The error is ErrExists if a different plan has its id. It is
// idempotent.
func (b Sweeps) PutSweep(ctx context.Context, sweep *busv1.Sweep) error {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(sweep)
	if err != nil {
		return fmt.Errorf("store sweep %s: %w", sweep.GetId(), err)
	}
	existing, err := b.create(ctx, sweepStream, sweepPlanSubject(sweep.GetId()), raw, checkSealed)
	if err == nil && existing != nil && !bytes.Equal(existing.Data, raw) {
		err = ErrExists
	}
	if err != nil {
		return fmt.Errorf("store sweep %s: %w", sweep.GetId(), err)
	}
	return nil
}

// Sweep returns the plan of a sweep. The error is ErrNotFound if there is none.
func (b Sweeps) Sweep(ctx context.Context, sweepID string) (*busv1.Sweep, error) {
	sweep, _, err := b.Plan(ctx, sweepID)
	return sweep, err
}
