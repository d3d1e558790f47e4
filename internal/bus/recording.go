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

// recordingStream holds what came from outside: turns of models and plug-ins, and answers of hosted
// services that a rollout is to replay.
const recordingStream = "RECORDING"

func turnSubject(id string, i int32) string   { return "turn." + id + "." + strconv.Itoa(int(i)) }
func answerSubject(id string, n int32) string { return "answer." + id + "." + strconv.Itoa(int(n)) }

// recordingConfig is the stream of recordings like another one. Requests repeat the conversation,
// so they are worth compressing.
func recordingConfig(like jetstream.StreamConfig) jetstream.StreamConfig {
	like.Compression = jetstream.S2Compression
	return like
}

// RecordTurn stores a turn of a player, whose first message has the index, in place of the record
// with a revision, which is 0 if there is none. ErrExists if another one is stored; after a lost
// acknowledgement that may be this one.
func (b Recordings) RecordTurn(ctx context.Context, rolloutID string, index int32, raw []byte, revision uint64) error {
	if err := b.replace(ctx, recordingStream, turnSubject(rolloutID, index), raw, revision); err != nil {
		return fmt.Errorf("record turn %d of %s: %w", index, rolloutID, err)
	}
	return nil
}

// Turn returns a recorded turn with its revision, ErrNotFound if there is none.
func (b Recordings) Turn(ctx context.Context, rolloutID string, index int32) (raw []byte, revision uint64, err error) {
	msg, err := b.last(ctx, recordingStream, turnSubject(rolloutID, index))
	if err != nil {
		return nil, 0, fmt.Errorf("read turn: %w", err)
	}
	return msg.Data, msg.Sequence, nil
}

// PutTurn stores a turn that a rollout is to replay. ErrExists if something else is stored; storing
// the same again succeeds.
func (b Recordings) PutTurn(ctx context.Context, rolloutID string, index int32, raw []byte) error {
	return b.put(ctx, recordingStream, turnSubject(rolloutID, index), raw)
}

// PutAnswer stores the n-th answer of a hosted service as PutTurn does a turn.
func (b Recordings) PutAnswer(ctx context.Context, rolloutID string, n int32, raw []byte) error {
	return b.put(ctx, recordingStream, answerSubject(rolloutID, n), raw)
}

func (b Recordings) put(ctx context.Context, stream, subject string, raw []byte) error {
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

// Turns visits every recorded turn of a rollout in the order of its messages.
func (b Recordings) Turns(ctx context.Context, rolloutID string, visit Visit) error {
	return b.visit(ctx, recordingStream, "turn."+rolloutID, visit)
}

// Answers visits every answer that a rollout is to replay in the order of their numbers.
func (b Recordings) Answers(ctx context.Context, rolloutID string, visit Visit) error {
	return b.visit(ctx, recordingStream, "answer."+rolloutID, visit)
}

// visit visits every message one token below a subject, in the order of the indices that these
// tokens are. The server knows a stream's subjects, and where each one's message is; asked for one
// message after the other it would search all that lies between them.
func (b Recordings) visit(ctx context.Context, stream, subject string, visit Visit) error {
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
