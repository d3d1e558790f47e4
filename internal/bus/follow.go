package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

const (
	// followBatch is how many messages a follower asks for at a time.
	followBatch = 1000
	// followBytes bounds what they hold together. It is more than one message may.
	followBytes = 16 << 20
)

// FollowLog calls handle for every log entry of a shard, in stream order, from the beginning, until
// ctx is done (then it returns nil) or handle fails. The handler's context carries the publisher's
// trace context. entry is nil if what is stored is no entry any more; what the server itself cannot
// read is left out.
func (b Logs) FollowLog(ctx context.Context, shard int, handle func(ctx context.Context, rolloutID string, seq uint64, entry *busv1.LogEntry) error) error {
	prefix := logSubject(shard, "")
	return b.follow(ctx, logStream(shard), "", func(ctx context.Context, msg jetstream.Msg) error {
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("follow log: %w", err)
		}
		entry, err := unseal(content(msg.Headers(), msg.Data()))
		if err != nil {
			entry = nil
		}
		return handle(ctx, strings.TrimPrefix(msg.Subject(), prefix), meta.Sequence.Stream, entry)
	})
}

// FollowSnapshots is FollowLog for the snapshots of a shard. One that cannot be decoded is left
// out: it is as good as missing.
func (b Snapshots) FollowSnapshots(ctx context.Context, shard int, handle func(ctx context.Context, snapshot *busv1.Snapshot) error) error {
	return b.follow(ctx, snapshotStream(shard), "", func(ctx context.Context, msg jetstream.Msg) error {
		snapshot, err := decode[busv1.Snapshot](msg.Subject(), content(msg.Headers(), msg.Data()))
		if err != nil {
			return nil
		}
		return handle(ctx, snapshot)
	})
}

// FollowResults is FollowLog for results: those of one sweep, or of all sweeps if sweepID is empty.
// A rollout has one for each round in which it ended. One that cannot be decoded is left out: it is
// as good as missing.
func (b Results) FollowResults(ctx context.Context, sweepID string, handle func(ctx context.Context, result *busv1.Result) error) error {
	return b.follow(ctx, resultStream, resultFilter(sweepID), func(ctx context.Context, msg jetstream.Msg) error {
		result, err := decode[busv1.Result](msg.Subject(), content(msg.Headers(), msg.Data()))
		if err != nil {
			return nil
		}
		return handle(ctx, result)
	})
}

// resultFilter is the subject of a sweep's results, or of all if sweepID is empty.
func resultFilter(sweepID string) string {
	if sweepID == "" {
		return "result.>"
	}
	return sweepResultSubject(sweepID)
}

// VisitResults calls visit with every readable result of a sweep, or of all sweeps if sweepID is
// empty, that is stored at the time of the call, oldest first. It may visit one more than once.
func (b Results) VisitResults(ctx context.Context, sweepID string, visit func(*busv1.Result)) error {
	err := b.readAll(ctx, resultStream, resultFilter(sweepID), false, func(msg jetstream.Msg) {
		if result, err := decode[busv1.Result](msg.Subject(), content(msg.Headers(), msg.Data())); err == nil {
			visit(result)
		}
	})
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	return nil
}

// readAll visits every message that matches a filter and can be read. It ends when the server has
// no more, since a message that cannot be read stays in the server's count of those to come. A
// message may be visited more than once, and without its data.
func (b *store) readAll(ctx context.Context, stream, filter string, withoutData bool, visit func(jetstream.Msg)) error {
	var consumer jetstream.Consumer
	err := attempt(ctx, stream, func(ctx context.Context) (err error) {
		consumer, err = b.streams[stream].CreateConsumer(ctx, jetstream.ConsumerConfig{
			FilterSubject: filter, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: time.Minute,
			HeadersOnly: withoutData,
		})
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		// The server forgets the consumer by itself should this fail.
		_ = b.streams[stream].DeleteConsumer(context.WithoutCancel(ctx), consumer.CachedInfo().Name)
	}()
	for {
		batch, err := consumer.FetchNoWait(followBatch)
		if err != nil {
			return err
		}
		n := 0
		for msg := range batch.Messages() {
			visit(msg)
			n++
		}
		if err := errors.Join(batch.Error(), ctx.Err()); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}

// ResultIDs calls visit with the rollout id and the round of every result that the server can read,
// as VisitResults does.
func (b Results) ResultIDs(ctx context.Context, sweepID string, visit func(rolloutID string, round int32)) error {
	err := b.readAll(ctx, resultStream, resultFilter(sweepID), true, func(msg jetstream.Msg) {
		visit(splitRoundKey(strings.TrimPrefix(msg.Subject(), resultSubject("", 0))))
	})
	if err != nil {
		return fmt.Errorf("list results: %w", err)
	}
	return nil
}

// SweepIDs returns the ids of all stored sweeps, in no order.
func (b Sweeps) SweepIDs(ctx context.Context) ([]string, error) {
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
func (b *store) info(ctx context.Context, stream, filter string) (info *jetstream.StreamInfo, err error) {
	err = attempt(ctx, stream, func(ctx context.Context) error {
		info, err = b.streams[stream].Info(ctx, jetstream.WithSubjectFilter(filter))
		return err
	})
	return info, err
}

// follow reads a stream with an ordered consumer: no acknowledgements, no state on the server
// beyond the connection; it makes itself anew after gaps and reconnects.
func (b *store) follow(ctx context.Context, stream, filter string, handle func(context.Context, jetstream.Msg) error) error {
	return b.followFrom(ctx, stream, filter, jetstream.DeliverAllPolicy, handle)
}

// followFrom is follow with what of the stream is read first.
func (b *store) followFrom(
	ctx context.Context, stream, filter string, first jetstream.DeliverPolicy, handle func(context.Context, jetstream.Msg) error,
) error {
	cfg := jetstream.OrderedConsumerConfig{DeliverPolicy: first}
	if filter != "" {
		cfg.FilterSubjects = []string{filter}
	}
	return b.followWith(ctx, stream, cfg, handle)
}

// followWith is follow with all settings.
func (b *store) followWith(
	ctx context.Context, stream string, cfg jetstream.OrderedConsumerConfig, handle func(context.Context, jetstream.Msg) error,
) error {
	var consumer jetstream.Consumer
	err := attempt(ctx, stream, func(ctx context.Context) (err error) {
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
