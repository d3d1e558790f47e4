package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/instrument"
	"github.com/toolsandbox/toolsandbox/internal/pause"
)

// These streams exist once.
const (
	jobStream        = "JOBS"
	resultStream     = "RESULT"
	sweepStream      = "SWEEP"
	setupStream      = "SETUP"
	evaluationStream = "EVALUATION"
)

const (
	// attemptTimeout bounds one request to the server. A restarting server loses requests without an
	// error.
	attemptTimeout = 2 * time.Second
	// requestTimeout bounds all attempts of one request, unless the caller's deadline is earlier. It
	// covers the restart of a server.
	requestTimeout = 30 * time.Second
	// replicaLag is how far a stream replica may lag behind the one that acknowledged a message.
	replicaLag = 100 * time.Millisecond
	// retryDelay is the pause between two attempts.
	retryDelay = 50 * time.Millisecond
	// fullDelay is that pause for a stream that is full.
	fullDelay = time.Second
)

// These are the parts of Config.Bytes, in hundred-thousandths, so that 1024 shards share one. Logs
// fill before snapshots do, since a rollout can wait for its log, but a full snapshot stream uses
// up its attempts.
const (
	allShares       = 100_000
	jobShare        = 3_000
	memberShare     = 1_000
	resultShare     = 6_000
	sweepShare      = 3_000
	setupShare      = 8_000
	evaluationShare = 4_000
	recordingShare  = 37_000
	logShare        = 22_000
	snapshotShare   = 16_000
)

func logStream(shard int) string      { return "BUS_" + strconv.Itoa(shard) }
func snapshotStream(shard int) string { return "SNAPSHOT_" + strconv.Itoa(shard) }

func logSubject(shard int, rolloutID string) string {
	return "bus." + strconv.Itoa(shard) + "." + rolloutID
}

func snapshotSubject(shard int, sessionID string) string {
	return "snapshot." + strconv.Itoa(shard) + "." + sessionID
}

func sweepJobSubject(sweepID string) string     { return "jobs." + sweepID + ".>" }
func sweepSubjects(sweepID string) string       { return "sweep." + sweepID + ".>" }
func sweepPlanSubject(sweepID string) string    { return "sweep." + sweepID + ".plan" }
func setupSubject(digest string) string         { return "setup." + digest }
func toolsSubject(digest string) string         { return "tools." + digest }
func evaluationSubject(digest string) string    { return "evaluation." + digest }
func sweepResultSubject(sweepID string) string  { return "result." + sweepID + ".>" }
func streamSubject(prefix string, n int) string { return prefix + "." + strconv.Itoa(n) + ".>" }

func jobSubject(rolloutID string, round int32) string {
	return "jobs." + roundKey(rolloutID, round)
}

func resultSubject(rolloutID string, round int32) string {
	return "result." + roundKey(rolloutID, round)
}

// streamConfigs lists every stream of an installation, in a fixed order. A stream that has its
// bytes takes nothing more, and no message has an age limit, because what it has may belong to a
// sweep that has not ended.
func streamConfigs(cfg Config) []jetstream.StreamConfig {
	newStream := func(share int64, name string, subjects ...string) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name:        name,
			Subjects:    subjects,
			Storage:     jetstream.FileStorage,
			Retention:   jetstream.LimitsPolicy,
			MaxBytes:    cfg.bytesOf(share),
			Discard:     jetstream.DiscardNew,
			Replicas:    cfg.Replicas,
			AllowDirect: true,
			Metadata:    map[string]string{shardsKey: strconv.Itoa(cfg.Shards), retentionKey: cfg.Retention.String()},
		}
	}
	jobs := newStream(jobShare, jobStream, "jobs.>")
	jobs.Retention = jetstream.WorkQueuePolicy
	// No stream has MaxMsgsPerSubject: nats-server 2.15.2 never returns if the message to remove is
	// unreadable.
	streams := []jetstream.StreamConfig{
		jobs,
		newStream(memberShare, memberStream, "member.*"),
		newStream(resultShare, resultStream, "result.>"),
		newStream(sweepShare, sweepStream, "sweep.>"),
		newStream(setupShare, setupStream, "setup.*", "tools.*"),
		newStream(evaluationShare, evaluationStream, "evaluation.*"),
		newStream(recordingShare, recordingStream, "turn.>", "answer.>"),
	}
	for shard := range cfg.Shards {
		streams = append(streams,
			newStream(logShare/int64(cfg.Shards), logStream(shard), streamSubject("bus", shard)),
			newStream(snapshotShare/int64(cfg.Shards), snapshotStream(shard), streamSubject("snapshot", shard)))
	}
	return streams
}

// newMessage returns a NATS message. It compresses long data. Nothing stored carries a trace: that
// of a rollout follows from its id.
func newMessage(subject string, raw []byte) *nats.Msg {
	msg := nats.NewMsg(subject)
	msg.Data = raw
	compress(msg)
	return msg
}

// failures counts attempts that fail, in all stores of a process.
var failures = instrument.NewMaker(otel.Meter("bus")).Counter(instrument.BusErrors)

// attempt repeats a request to a stream until it is answered. Only lost answers are retried, so
// request must be idempotent. The error is ErrUnavailable if no answer arrived.
func attempt(ctx context.Context, stream string, request func(ctx context.Context) error) error {
	for start := time.Now(); ; {
		attemptCtx, cancel := context.WithTimeout(ctx, attemptTimeout)
		err := request(attemptCtx)
		cancel()
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("stream %s: %w: toolsandbox bus init makes it again", stream, err)
		}
		if !isAmbiguous(err) {
			return err
		}
		delay, class := retryDelay, "unanswered"
		if isFull(err) {
			delay, class = fullDelay, "full"
		}
		failures.Add(ctx, 1, metric.WithAttributes(attribute.String(instrument.LabelStream, stream), attribute.String(instrument.LabelError, class)))
		if time.Since(start) > requestTimeout {
			return unavailableError(stream, err)
		}
		if !pause.For(ctx, delay) {
			return unavailableError(stream, err)
		}
	}
}

// unavailableError names the stream that did not answer or is full, and a remedy.
func unavailableError(stream string, err error) error {
	if isFull(err) {
		return fmt.Errorf("stream %s: %w: it takes nothing until sweeps that have ended are removed: remove some with toolsandbox sweep delete, or raise --bus-bytes with toolsandbox bus init", stream, ErrFull)
	}
	return fmt.Errorf("%w: stream %s: %w: see that NATS runs and has this stream", ErrUnavailable, stream, err)
}

// streamOf returns the name of a subject's stream.
func streamOf(subject string) string {
	kind, suffix, _ := strings.Cut(subject, ".")
	shard, _, _ := strings.Cut(suffix, ".")
	switch kind {
	case "bus":
		return "BUS_" + shard
	case "snapshot":
		return "SNAPSHOT_" + shard
	case "turn", "answer":
		return recordingStream
	case "tools":
		return setupStream
	}
	return strings.ToUpper(kind)
}

// create publishes to a subject that must have no message yet, and returns nil. If it has one,
// create returns that; after a lost acknowledgement that may be this call's own. A message that
// cannot be read is lost, and one that check rejects is foreign: it is removed and the new one
// takes its place. check may be nil.
func (b *store) create(
	ctx context.Context, stream, subject string, raw []byte, check func(*jetstream.RawStreamMsg) error,
) (existing *jetstream.RawStreamMsg, err error) {
	for {
		_, _, err := b.publish(ctx, subject, raw, expectLast(0))
		if !isWrongSequence(err) {
			return nil, err
		}
		stored, err := b.conflicting(ctx, stream, subject)
		if err != nil {
			return nil, err
		}
		if stored != nil && (check == nil || check(stored) == nil) {
			return stored, nil
		}
		if stored != nil {
			if err := b.remove(ctx, stream, stored.Sequence); err != nil {
				return nil, err
			}
		}
	}
}

// replace publishes to a subject whose newest message has a sequence, 0 if there is none that can
// be read. It removes those before, and foreign ones behind it. ErrExists if another message is the
// newest; after a lost acknowledgement that may be this one.
func (b *store) replace(ctx context.Context, stream, subject string, raw []byte, expected uint64, headers ...header) error {
	for {
		_, _, err := b.publish(ctx, subject, raw, append(slices.Clip(headers), expectLast(expected))...)
		if err == nil && expected > 0 {
			return b.purgeOlder(ctx, stream, subject)
		}
		if !isWrongSequence(err) {
			return err
		}
		stored, err := b.conflicting(ctx, stream, subject)
		switch {
		case err != nil || stored != nil && checkSealed(stored) == nil:
			return errors.Join(ErrExists, err)
		case stored == nil:
			expected = 0
		default:
			if err := b.remove(ctx, stream, stored.Sequence); err != nil {
				return err
			}
		}
	}
}

// conflicting returns the newest message of a subject whose publication conflicted. It retries for
// a while, because the queried replica may lag behind. If the message is unreadable, it purges the
// subject and returns nil.
func (b *store) conflicting(ctx context.Context, stream, subject string) (*jetstream.RawStreamMsg, error) {
	for start := time.Now(); ; {
		stored, err := b.lastMessage(ctx, stream, subject)
		if !errors.Is(err, ErrNotFound) {
			return stored, err
		}
		if time.Since(start) > replicaLag {
			return nil, b.purge(ctx, stream, subject)
		}
		if !pause.For(ctx, retryDelay) {
			return nil, ctx.Err()
		}
	}
}

// remove removes a message.
func (b *store) remove(ctx context.Context, stream string, sequence uint64) error {
	err := attempt(ctx, stream, func(ctx context.Context) error { return b.streams[stream].DeleteMsg(ctx, sequence) })
	if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) { // somebody else has
		return nil
	}
	return err
}

// purge removes all messages of a subject.
func (b *store) purge(ctx context.Context, stream, subject string) error {
	return attempt(ctx, stream, func(ctx context.Context) error {
		return b.streams[stream].Purge(ctx, jetstream.WithPurgeSubject(subject))
	})
}

// purgeOlder removes all messages of a subject except the newest.
func (b *store) purgeOlder(ctx context.Context, stream, subject string) error {
	return attempt(ctx, stream, func(ctx context.Context) error {
		return b.streams[stream].Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeKeep(1))
	})
}

// lastMessage returns the last message of a subject. The error is ErrNotFound if there is none.
func (b *store) lastMessage(ctx context.Context, stream, subject string) (msg *jetstream.RawStreamMsg, err error) {
	err = attempt(ctx, stream, func(ctx context.Context) error {
		msg, err = b.streams[stream].GetLastMsgForSubject(ctx, subject)
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("%s: %w", subject, ErrNotFound)
	}
	return decompress(msg, err)
}

// messageAt returns the message with a sequence. The error is ErrNotFound if it no longer exists.
func (b *store) messageAt(ctx context.Context, stream string, sequence uint64) (msg *jetstream.RawStreamMsg, err error) {
	err = attempt(ctx, stream, func(ctx context.Context) error {
		msg, err = b.streams[stream].GetMsg(ctx, sequence)
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("message %d of %s: %w", sequence, stream, ErrNotFound)
	}
	return decompress(msg, err)
}

// eachMessage visits every message of a subject in stream order.
func (b *store) eachMessage(ctx context.Context, stream, subject string, visit func(msg *jetstream.RawStreamMsg) error) error {
	for from := uint64(1); ; {
		msg, err := b.nextMessage(ctx, stream, subject, from)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(msg); err != nil {
			return err
		}
		from = msg.Sequence + 1
	}
}

func (b *store) nextMessage(ctx context.Context, stream, subject string, from uint64) (msg *jetstream.RawStreamMsg, err error) {
	err = attempt(ctx, stream, func(ctx context.Context) error {
		msg, err = b.streams[stream].GetMsg(ctx, from, jetstream.WithGetMsgSubject(subject))
		return err
	})
	return decompress(msg, err)
}

// decompress returns a message of a direct get with decompressed data.
func decompress(msg *jetstream.RawStreamMsg, err error) (*jetstream.RawStreamMsg, error) {
	if err != nil {
		return nil, err
	}
	values := msg.Header[answeredHeader]
	if len(values) == 0 {
		return nil, errors.New("nats: an answer to a direct get lacks its headers")
	}
	// The last value of each header is of this direct get. The client reads the first.
	msg.Header[answeredHeader] = values[:len(values)-1]
	if !isAnswer(msg.Header) {
		msg.Data = decompressedData(msg.Header, msg.Data)
		return msg, nil
	}
	sequences, subjects := msg.Header[jetstream.SequenceHeader], msg.Header[jetstream.SubjectHeader]
	if len(sequences) == 0 || len(subjects) == 0 {
		return nil, errors.New("nats: an answer to a direct get lacks its headers")
	}
	sequence, err := strconv.ParseUint(sequences[len(sequences)-1], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("nats: sequence of an answer: %w", err)
	}
	msg.Sequence, msg.Subject, msg.Data = sequence, subjects[len(subjects)-1], foreignData
	return msg, nil
}

// decode reads a stored message; a message that this version cannot read is an error that names its
// subject.
func decode[T any, P interface {
	*T
	proto.Message
}](subject string, raw []byte) (P, error) {
	value := P(new(T))
	if err := proto.Unmarshal(raw, value); err != nil {
		return nil, fmt.Errorf("read %s: %w", subject, err)
	}
	return value, nil
}
