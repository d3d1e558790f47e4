package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

const (
	// followBatch is how many messages a follower asks for at a time.
	followBatch = 1000
	// followBytes bounds what they hold together. It is more than one message may.
	followBytes = 16 << 20
)

// FollowLog calls handle for every log entry of a shard, in stream order, from the beginning, until ctx is done (then it
// returns nil) or handle fails. The handler's context carries the publisher's trace context.
func (b *Bus) FollowLog(ctx context.Context, shard int, handle func(ctx context.Context, rolloutID string, seq uint64, entry *busv1.LogEntry) error) error {
	prefix := logSubject(shard, "")
	return b.follow(ctx, logStream(shard), "", func(ctx context.Context, msg jetstream.Msg) error {
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("follow log: %w", err)
		}
		entry, err := decode[busv1.LogEntry](msg.Subject(), msg.Data())
		if err != nil {
			return err
		}
		return handle(ctx, strings.TrimPrefix(msg.Subject(), prefix), meta.Sequence.Stream, entry)
	})
}

// FollowSnapshots is FollowLog for the snapshots of a shard.
func (b *Bus) FollowSnapshots(ctx context.Context, shard int, handle func(ctx context.Context, snapshot *busv1.Snapshot) error) error {
	return b.follow(ctx, snapshotStream(shard), "", func(ctx context.Context, msg jetstream.Msg) error {
		snapshot, err := decode[busv1.Snapshot](msg.Subject(), msg.Data())
		if err != nil {
			return err
		}
		return handle(ctx, snapshot)
	})
}

// FollowResults is FollowLog for results: those of one sweep, or of all sweeps if sweepID is empty. A rollout has one for each round in
// which it ended.
func (b *Bus) FollowResults(ctx context.Context, sweepID string, handle func(ctx context.Context, result *busv1.Result) error) error {
	filter := ""
	if sweepID != "" {
		filter = sweepResultSubject(sweepID)
	}
	return b.follow(ctx, resultStream, filter, func(ctx context.Context, msg jetstream.Msg) error {
		result, err := decode[busv1.Result](msg.Subject(), msg.Data())
		if err != nil {
			return err
		}
		return handle(ctx, result)
	})
}

// errAll says that a bounded reading has come to its end.
var errAll = errors.New("all was read")

// Results calls visit with every result of a sweep that is stored at the time of the call, oldest first.
func (b *Bus) Results(ctx context.Context, sweepID string, visit func(*busv1.Result)) error {
	info, err := b.info(ctx, resultStream, sweepResultSubject(sweepID))
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	if len(info.State.Subjects) == 0 {
		return nil
	}
	err = b.follow(ctx, resultStream, sweepResultSubject(sweepID), func(_ context.Context, msg jetstream.Msg) error {
		result, err := decode[busv1.Result](msg.Subject(), msg.Data())
		if err != nil {
			return err
		}
		visit(result)
		meta, err := msg.Metadata()
		if err == nil && meta.NumPending == 0 {
			err = errAll
		}
		return err
	})
	switch {
	case errors.Is(err, errAll):
		return nil
	case err == nil: // ctx is done
		err = ctx.Err()
	}
	return fmt.Errorf("read results: %w", err)
}

// FollowCancellations calls handle with the id of every cancelled sweep and the last round that is cancelled, as FollowLog does.
func (b *Bus) FollowCancellations(ctx context.Context, handle func(sweepID string, round int32)) error {
	return b.follow(ctx, sweepStream, sweepCancelSubject("*"), func(_ context.Context, msg jetstream.Msg) error {
		stored, err := decode[busv1.SweepCancellation](msg.Subject(), msg.Data())
		if err != nil {
			return err
		}
		handle(strings.Split(msg.Subject(), ".")[1], stored.GetRound())
		return nil
	})
}

// ResultIDs calls visit with the rollout id and the round of every stored result at the time of the call.
func (b *Bus) ResultIDs(ctx context.Context, sweepID string, visit func(rolloutID string, round int32)) error {
	filter := "result.>"
	if sweepID != "" {
		filter = sweepResultSubject(sweepID)
	}
	info, err := b.info(ctx, resultStream, filter)
	if err != nil {
		return fmt.Errorf("list results: %w", err)
	}
	for subject := range info.State.Subjects {
		visit(splitRoundKey(strings.TrimPrefix(subject, resultSubject("", 0))))
	}
	return nil
}

// SweepIDs returns the ids of all stored sweeps, in no order.
func (b *Bus) SweepIDs(ctx context.Context) ([]string, error) {
	info, err := b.info(ctx, sweepStream, sweepPlanSubject("*"))
	if err != nil {
		return nil, fmt.Errorf("list sweeps: %w", err)
	}
	ids := make([]string, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		ids = append(ids, strings.Split(subject, ".")[1])
	}
	return ids, nil
}

// info returns a stream's state with the subjects that match a filter.
func (b *Bus) info(ctx context.Context, stream, filter string) (info *jetstream.StreamInfo, err error) {
	err = attempt(ctx, func(ctx context.Context) error {
		info, err = b.streams[stream].Info(ctx, jetstream.WithSubjectFilter(filter))
		return err
	})
	return info, err
}

// follow reads a stream with an ordered consumer: no acknowledgements, no state on the server beyond the connection; it
// makes itself anew after gaps and reconnects.
func (b *Bus) follow(ctx context.Context, stream, filter string, handle func(context.Context, jetstream.Msg) error) error {
	return b.followFrom(ctx, stream, filter, jetstream.DeliverAllPolicy, handle)
}

// followFrom is follow with what of the stream is read first.
func (b *Bus) followFrom(
	ctx context.Context, stream, filter string, first jetstream.DeliverPolicy, handle func(context.Context, jetstream.Msg) error,
) error {
	cfg := jetstream.OrderedConsumerConfig{DeliverPolicy: first}
	if filter != "" {
		cfg.FilterSubjects = []string{filter}
	}
	var consumer jetstream.Consumer
	err := attempt(ctx, func(ctx context.Context) (err error) {
		consumer, err = b.streams[stream].OrderedConsumer(ctx, cfg)
		return err
	})
	if err != nil {
		return stopped(ctx, fmt.Errorf("follow %s: %w", stream, err))
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(followBatch, followBytes))
	if err != nil {
		return stopped(ctx, fmt.Errorf("follow %s: %w", stream, err))
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if errors.Is(err, jetstream.ErrNoHeartbeat) {
			continue // the server was away for a moment; the iterator recovers by itself
		}
		if err != nil {
			return stopped(ctx, fmt.Errorf("follow %s: %w", stream, err))
		}
		if err := handle(traced(ctx, msg.Headers()), msg); err != nil {
			return stopped(ctx, fmt.Errorf("follow %s: %w", stream, err))
		}
	}
}

// stopped turns an error that came because ctx is done into nil.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
