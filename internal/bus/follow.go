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
	// followBatch is the number of messages that a follower requests at a time.
	followBatch = 1000
	// followBytes bounds their total size, if the server takes no larger message.
	followBytes = 16 << 20
	// abandonAfter is how long a follower waits for the end of its iterator.
	abandonAfter = 100 * time.Millisecond
	// followAhead is the number of messages that are read ahead of the handled one.
	followAhead = 64
	// fetchSilence is how long the client library waits for an answer to a request for messages. It
	// reports no answer as it does the end of the messages.
	fetchSilence = time.Second
)

// errIncomplete: a list of messages lacks some that the server has.
var errIncomplete = errors.New("messages were lost on the way")

// FollowLog calls handle for every log entry of a shard, in stream order, from the beginning, until
// ctx is done (then it returns nil) or handle fails. entry is nil for a message that is no entry.
// Messages that the server cannot read are skipped.
func (b Logs) FollowLog(ctx context.Context, shard int, handle func(rolloutID string, seq uint64, entry *busv1.LogEntry) error) error {
	prefix := logSubject(shard, "")
	return b.follow(ctx, logStream(shard), "", func(msg jetstream.Msg) error {
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("follow log: %w", err)
		}
		entry, err := decodeEntry(decompressedData(msg.Headers(), msg.Data()))
		if err != nil {
			entry = nil
		}
		return handle(strings.TrimPrefix(msg.Subject(), prefix), meta.Sequence.Stream, entry)
	})
}

// FollowSnapshots is FollowLog for the snapshots of a shard. It skips undecodable ones, which count
// as missing.
func (b Snapshots) FollowSnapshots(ctx context.Context, shard int, handle func(snapshot *busv1.Snapshot) error) error {
	return b.follow(ctx, snapshotStream(shard), "", func(msg jetstream.Msg) error {
		snapshot, err := decode[busv1.Snapshot](msg.Subject(), decompressedData(msg.Headers(), msg.Data()))
		if err != nil {
			return nil
		}
		return handle(snapshot)
	})
}

// FollowResults is FollowLog for the results of one sweep, or of all sweeps if sweepID is empty. A
// rollout has one result per round in which it ended. It skips foreign ones, which count as
// missing.
func (b Results) FollowResults(ctx context.Context, sweepID string, handle func(result *busv1.Result) error) error {
	return b.follow(ctx, resultStream, resultFilter(sweepID), func(msg jetstream.Msg) error {
		result, err := decodeResult(msg.Subject(), 0, decompressedData(msg.Headers(), msg.Data()))
		if err != nil {
			return nil
		}
		return handle(result)
	})
}

// resultFilter returns the subject filter of a sweep's results, or of all if sweepID is empty.
func resultFilter(sweepID string) string {
	if sweepID == "" {
		return "result.>"
	}
	return sweepResultSubject(sweepID)
}

// VisitResults calls visit with every readable result of a sweep, or of all sweeps if sweepID is
// empty, that is stored at the time of the call, oldest first. It may visit a result more than
// once.
func (b Results) VisitResults(ctx context.Context, sweepID string, visit func(*busv1.Result)) error {
	err := b.readAll(ctx, resultStream, resultFilter(sweepID), false, func(msg jetstream.Msg) {
		if result, err := decodeResult(msg.Subject(), 0, decompressedData(msg.Headers(), msg.Data())); err == nil {
			visit(result)
		}
	})
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	return nil
}

// readAll visits every readable message that matches a filter. It ends when the server has no more
// messages, because unreadable ones remain in the server's pending count. It may visit a message
// more than once. headersOnly omits the data.
func (b *store) readAll(ctx context.Context, stream, filter string, headersOnly bool, visit func(jetstream.Msg)) error {
	return b.readWith(ctx, stream, jetstream.ConsumerConfig{FilterSubject: filter, HeadersOnly: headersOnly}, visit)
}

// readWith is readAll for the messages that a configuration selects. It reads all of them again
// after some were lost on the way.
func (b *store) readWith(ctx context.Context, stream string, cfg jetstream.ConsumerConfig, visit func(jetstream.Msg)) error {
	cfg.AckPolicy, cfg.MemoryStorage, cfg.InactiveThreshold = jetstream.AckNonePolicy, true, time.Minute
	for start := time.Now(); ; {
		err := b.readOnce(ctx, stream, cfg, visit)
		if !errors.Is(err, errIncomplete) {
			return err
		}
		if time.Since(start) > requestTimeout {
			return unavailableError(stream, err)
		}
	}
}

// readOnce is readWith. The error is errIncomplete if messages were lost on the way.
func (b *store) readOnce(ctx context.Context, stream string, cfg jetstream.ConsumerConfig, visit func(jetstream.Msg)) error {
	var consumer jetstream.Consumer
	err := attempt(ctx, stream, func(ctx context.Context) (err error) {
		consumer, err = b.streams[stream].CreateConsumer(ctx, cfg)
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		// If this fails, the server removes the consumer after a while.
		_ = b.streams[stream].DeleteConsumer(context.WithoutCancel(ctx), consumer.CachedInfo().Name)
	}()
	var visited uint64
	for {
		before, asked := visited, time.Now()
		batch, err := consumer.FetchNoWait(followBatch)
		if err != nil {
			return err
		}
		for msg := range batch.Messages() {
			visit(msg)
			visited++
		}
		if err := errors.Join(batch.Error(), ctx.Err()); err != nil {
			return err
		}
		if visited > before {
			continue
		}
		if time.Since(asked) >= fetchSilence {
			return errIncomplete // the request was lost, or its answer
		}
		return b.checkVisited(ctx, stream, consumer, visited)
	}
}

// checkVisited returns errIncomplete unless as many messages arrived as the server sent.
func (b *store) checkVisited(ctx context.Context, stream string, consumer jetstream.Consumer, visited uint64) error {
	return attempt(ctx, stream, func(ctx context.Context) error {
		info, err := consumer.Info(ctx)
		if err == nil && info.Delivered.Consumer != visited {
			err = errIncomplete
		}
		return err
	})
}

// ResultIDs calls visit with the rollout id and the round of every result, as VisitResults does.
func (b Results) ResultIDs(ctx context.Context, sweepID string, visit func(rolloutID string, round int32)) error {
	err := b.readAll(ctx, resultStream, resultFilter(sweepID), true, func(msg jetstream.Msg) {
		visit(splitRoundKey(strings.TrimPrefix(msg.Subject(), resultSubject("", 0))))
	})
	if err != nil {
		return fmt.Errorf("list results: %w", err)
	}
	return nil
}

// SweepIDs returns the ids of all stored sweeps in no particular order.
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

// follow reads a stream with an ordered consumer. It needs no acknowledgements and no durable
// state, and recreates itself after gaps and reconnects.
func (b *store) follow(ctx context.Context, stream, filter string, handle func(jetstream.Msg) error) error {
	return b.followFrom(ctx, stream, filter, jetstream.DeliverAllPolicy, handle)
}

// followFrom is follow with a start position.
func (b *store) followFrom(
	ctx context.Context, stream, filter string, first jetstream.DeliverPolicy, handle func(jetstream.Msg) error,
) error {
	cfg := jetstream.OrderedConsumerConfig{DeliverPolicy: first}
	if filter != "" {
		cfg.FilterSubjects = []string{filter}
	}
	return b.followWith(ctx, stream, cfg, handle)
}

// followWith is follow with all settings.
func (b *store) followWith(
	ctx context.Context, stream string, cfg jetstream.OrderedConsumerConfig, handle func(jetstream.Msg) error,
) error {
	var consumer jetstream.Consumer
	err := attempt(ctx, stream, func(ctx context.Context) (err error) {
		consumer, err = b.streams[stream].OrderedConsumer(ctx, cfg)
		return err
	})
	if err != nil {
		return nilIfDone(ctx, fmt.Errorf("follow %s: %w", stream, err))
	}
	// A message beyond the limit would never come, nor those behind it.
	limit := max(followBytes, 2*int(b.js.Conn().MaxPayload()))
	messages, err := consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(followBatch, limit))
	if err != nil {
		return nilIfDone(ctx, fmt.Errorf("follow %s: %w", stream, err))
	}
	if err := handleAll(ctx, messages, handle); err != nil {
		return nilIfDone(ctx, fmt.Errorf("follow %s: %w", stream, err))
	}
	return nil
}

// handleAll handles messages until ctx is done or handle fails. Without NATS the iterator recreates
// its consumer without regard to ctx, for up to 20 s after it is stopped, so another goroutine
// reads it. handleAll leaves that goroutine behind after abandonAfter.
func handleAll(ctx context.Context, messages jetstream.MessagesContext, handle func(jetstream.Msg) error) error {
	reading, cancel := context.WithCancel(ctx)
	next, ended := make(chan jetstream.Msg, followAhead), make(chan struct{})
	var readErr error
	go func() {
		defer close(ended)
		readErr = readMessages(reading, messages, next)
	}()
	for {
		var err error
		select {
		case msg := <-next:
			if err = handle(msg); err == nil {
				continue
			}
		case <-ended:
			err = readErr
		case <-ctx.Done():
			err = ctx.Err()
		}
		cancel()
		select {
		case <-ended:
			messages.Stop()
		case <-time.After(abandonAfter):
			go messages.Stop() // waits for the iterator
		}
		return err
	}
}

// readMessages passes messages on until ctx is done or the iterator fails.
func readMessages(ctx context.Context, messages jetstream.MessagesContext, next chan<- jetstream.Msg) error {
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if errors.Is(err, jetstream.ErrNoHeartbeat) {
			continue // the server was unreachable for a moment; the iterator recovers
		}
		if err != nil {
			return err
		}
		select {
		case next <- msg:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// nilIfDone returns nil for an error that results from the end of ctx.
func nilIfDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
