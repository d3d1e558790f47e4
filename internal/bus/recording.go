package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// recordingStream holds what came from outside beside the replies: exchanges with model providers,
// and answers of hosted services that a rollout is to replay.
const recordingStream = "RECORDING"

func exchangeSubject(id string, i int32) string { return "exchange." + id + "." + strconv.Itoa(int(i)) }
func answerSubject(id string, n int32) string   { return "answer." + id + "." + strconv.Itoa(int(n)) }

// recordingConfig is the stream of recordings like another one. Requests repeat the conversation,
// so they are worth compressing.
func recordingConfig(like jetstream.StreamConfig) jetstream.StreamConfig {
	like.Compression = jetstream.S2Compression
	return like
}

// RecordExchange stores what a gateway and a model provider said to each other about a message of a
// rollout, in place of the record with a revision, which is 0 if there is none, and returns the new
// one's. ErrExists if another one is stored; after a lost acknowledgement that may be this one.
func (b *Bus) RecordExchange(ctx context.Context, rolloutID string, index int32, raw []byte, revision uint64) (uint64, error) {
	sequence, err := b.replace(ctx, recordingStream, exchangeSubject(rolloutID, index), raw, revision)
	if err != nil {
		return 0, fmt.Errorf("record exchange %d of %s: %w", index, rolloutID, err)
	}
	return sequence, nil
}

// Exchange returns the recorded exchange about a message with its revision, ErrNotFound if there is
// none.
func (b *Bus) Exchange(ctx context.Context, rolloutID string, index int32) (raw []byte, revision uint64, err error) {
	msg, err := b.last(ctx, recordingStream, exchangeSubject(rolloutID, index))
	if err != nil {
		return nil, 0, fmt.Errorf("read exchange: %w", err)
	}
	return msg.Data, msg.Sequence, nil
}

// PutReply stores a reply that a rollout is to replay. ErrExists if something else is stored;
// storing the same again succeeds.
func (b *Bus) PutReply(ctx context.Context, rolloutID string, index int32, raw []byte) error {
	return b.put(ctx, replyStream, replySubject(rolloutID, index), raw)
}

// PutExchange stores an exchange as PutReply does a reply.
func (b *Bus) PutExchange(ctx context.Context, rolloutID string, index int32, raw []byte) error {
	return b.put(ctx, recordingStream, exchangeSubject(rolloutID, index), raw)
}

// PutAnswer stores the n-th answer of a hosted service as PutReply does a reply.
func (b *Bus) PutAnswer(ctx context.Context, rolloutID string, n int32, raw []byte) error {
	return b.put(ctx, recordingStream, answerSubject(rolloutID, n), raw)
}

func (b *Bus) put(ctx context.Context, stream, subject string, raw []byte) error {
	existing, err := b.create(ctx, stream, subject, raw)
	if err == nil && existing != nil && !bytes.Equal(existing, raw) {
		err = ErrExists
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", subject, err)
	}
	return nil
}

// Visit receives what is recorded under an index. An error ends the reading and is returned.
type Visit func(index int32, raw []byte) error

// Exchanges visits every exchange of a rollout in the order of its messages.
func (b *Bus) Exchanges(ctx context.Context, rolloutID string, visit Visit) error {
	return b.visit(ctx, recordingStream, "exchange."+rolloutID, visit)
}

// Answers visits every answer that a rollout is to replay in the order of their numbers.
func (b *Bus) Answers(ctx context.Context, rolloutID string, visit Visit) error {
	return b.visit(ctx, recordingStream, "answer."+rolloutID, visit)
}

// visit visits every message one token below a subject, in the order of the indices that these
// tokens are. The server knows a stream's subjects, and where each one's message is; asked for one
// message after the other it would search all that lies between them.
func (b *Bus) visit(ctx context.Context, stream, subject string, visit Visit) error {
	info, err := b.info(ctx, stream, subject+".*")
	if err != nil {
		return fmt.Errorf("read %s: %w", subject, err)
	}
	indices := make([]int32, 0, len(info.State.Subjects))
	for name := range info.State.Subjects {
		text := strings.TrimPrefix(name, subject+".")
		index, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return fmt.Errorf("read %s: %s: %q is no index", subject, name, text)
		}
		indices = append(indices, int32(index))
	}
	slices.Sort(indices)
	for _, index := range indices {
		msg, err := b.last(ctx, stream, subject+"."+strconv.Itoa(int(index)))
		if errors.Is(err, ErrNotFound) {
			continue // its retention has just ended
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", subject, err)
		}
		if err := visit(index, msg.Data); err != nil {
			return fmt.Errorf("read %s: %w", subject, err)
		}
	}
	return nil
}
