package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"
)

// Streams that exist once.
const (
	jobStream        = "JOBS"
	resultStream     = "RESULT"
	sweepStream      = "SWEEP"
	setupStream      = "SETUP"
	evaluationStream = "EVALUATION"
	replyStream      = "REPLY"
)

// publishTimeout bounds one publish with its acknowledgement when the caller's context has no earlier deadline.
const publishTimeout = 10 * time.Second

func logStream(shard int) string      { return "BUS_" + strconv.Itoa(shard) }
func snapshotStream(shard int) string { return "SNAPSHOT_" + strconv.Itoa(shard) }

func logSubject(shard int, rolloutID string) string {
	return "bus." + strconv.Itoa(shard) + "." + rolloutID
}

func snapshotSubject(shard int, sessionID string) string {
	return "snapshot." + strconv.Itoa(shard) + "." + sessionID
}

func jobSubject(rolloutID string) string        { return "jobs." + rolloutID }
func resultSubject(rolloutID string) string     { return "result." + rolloutID }
func sweepPlanSubject(sweepID string) string    { return "sweep." + sweepID + ".plan" }
func sweepCancelSubject(sweepID string) string  { return "sweep." + sweepID + ".cancel" }
func setupSubject(digest string) string         { return "setup." + digest }
func evaluationSubject(digest string) string    { return "evaluation." + digest }
func replySubject(id string, i int32) string    { return "reply." + id + "." + strconv.Itoa(int(i)) }
func sweepResultSubject(sweepID string) string  { return "result." + sweepID + ".*" }
func streamSubject(prefix string, n int) string { return prefix + "." + strconv.Itoa(n) + ".>" }

// streamConfigs lists every stream of an installation, in a fixed order.
func streamConfigs(cfg Config) []jetstream.StreamConfig {
	kept := func(name string, subjects ...string) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name:        name,
			Subjects:    subjects,
			Storage:     jetstream.FileStorage,
			Retention:   jetstream.LimitsPolicy,
			MaxAge:      cfg.Retention,
			Replicas:    cfg.Replicas,
			AllowDirect: true,
		}
	}
	jobs := kept(jobStream, "jobs.>")
	jobs.Retention = jetstream.WorkQueuePolicy
	jobs.MaxAge = 0
	streams := []jetstream.StreamConfig{
		jobs,
		kept(resultStream, "result.>"),
		kept(sweepStream, "sweep.>"),
		kept(setupStream, "setup.*"),
		kept(evaluationStream, "evaluation.*"),
		kept(replyStream, "reply.>"),
	}
	for shard := range cfg.Shards {
		streams = append(streams,
			kept(logStream(shard), streamSubject("bus", shard)),
			kept(snapshotStream(shard), streamSubject("snapshot", shard)))
	}
	return streams
}

// message builds a NATS message that carries the trace context of ctx.
func message(ctx context.Context, subject string, raw []byte) *nats.Msg {
	msg := nats.NewMsg(subject)
	msg.Data = raw
	if trace.SpanContextFromContext(ctx).IsValid() {
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(msg.Header))
	}
	return msg
}

// traced returns ctx with the trace context that a message carries.
func traced(ctx context.Context, header nats.Header) context.Context {
	if len(header) == 0 {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header))
}

// publish sends a message and waits for its acknowledgement.
func (b *Bus) publish(ctx context.Context, subject string, raw []byte, opts ...jetstream.PublishOpt) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	ack, err := b.js.PublishMsg(ctx, message(ctx, subject, raw), opts...)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// create publishes to a subject that must have no message yet; created is false if it has one.
func (b *Bus) create(ctx context.Context, subject string, raw []byte) (created bool, err error) {
	_, err = b.publish(ctx, subject, raw, jetstream.WithExpectLastSequencePerSubject(0))
	if isWrongSequence(err) {
		return false, nil
	}
	return err == nil, err
}

// last returns the last message of a subject, ErrNotFound if there is none.
func (b *Bus) last(ctx context.Context, stream, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	msg, err := b.streams[stream].GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("%s: %w", subject, ErrNotFound)
	}
	return msg, err
}

// all visits every message of a subject in stream order.
func (b *Bus) all(ctx context.Context, stream, subject string, visit func(msg *jetstream.RawStreamMsg) error) error {
	for from := uint64(1); ; {
		msg, err := b.next(ctx, stream, subject, from)
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

func (b *Bus) next(ctx context.Context, stream, subject string, from uint64) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	return b.streams[stream].GetMsg(ctx, from, jetstream.WithGetMsgSubject(subject))
}

// isWrongSequence says whether an expected last sequence was not the last one.
func isWrongSequence(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	return api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// decode reads a stored message; a message that this version cannot read is an error that names its subject.
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
