package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

func sweepParallelSubject(sweepID string) string { return "sweep." + sweepID + ".parallel" }

// SetParallel stores how many rollouts of a sweep each worker process may run at once from now on,
// as somebody says who plays the sweep in a round; 0 is no limit. The number of the highest round
// counts, and of several of one round the one that was stored last: a command line that lost its
// connection and creates its sweep again does not undo what a later part of the run has set.
func (b *Bus) SetParallel(ctx context.Context, sweepID string, parallel, round int32) error {
	next := &busv1.SweepParallel{Parallel: parallel, Round: round}
	raw, err := proto.Marshal(next)
	for err == nil {
		stored, revision, lastErr := b.parallel(ctx, sweepID)
		if err = lastErr; err != nil || stored.GetRound() > round || proto.Equal(stored, next) {
			break
		}
		_, _, err = b.publish(ctx, sweepParallelSubject(sweepID), raw, jetstream.WithExpectLastSequencePerSubject(revision))
		if !isWrongSequence(err) {
			break
		}
		err = nil // somebody else has, or the acknowledgement was lost
	}
	if err != nil {
		return fmt.Errorf("store rollouts at once of sweep %s: %w", sweepID, err)
	}
	return nil
}

// parallel returns what is stored, which is empty and of revision 0 if nobody has said anything.
func (b *Bus) parallel(ctx context.Context, sweepID string) (*busv1.SweepParallel, uint64, error) {
	msg, err := b.last(ctx, sweepStream, sweepParallelSubject(sweepID))
	if errors.Is(err, ErrNotFound) {
		return &busv1.SweepParallel{}, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	stored, err := decode[busv1.SweepParallel](msg.Subject, msg.Data)
	return stored, msg.Sequence, err
}

// FollowParallel calls handle with the number of every sweep that has one, and with each that is
// stored after that, in order, until ctx is done (then it returns nil).
func (b *Bus) FollowParallel(ctx context.Context, handle func(sweepID string, parallel int)) error {
	return b.followFrom(ctx, sweepStream, sweepParallelSubject("*"), jetstream.DeliverLastPerSubjectPolicy, func(_ context.Context, msg jetstream.Msg) error {
		stored, err := decode[busv1.SweepParallel](msg.Subject(), content(msg.Headers(), msg.Data()))
		if err != nil {
			return err
		}
		handle(strings.Split(msg.Subject(), ".")[1], int(stored.GetParallel()))
		return nil
	})
}
