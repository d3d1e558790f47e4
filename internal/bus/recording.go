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

// Headers of a recorded turn.
const (
	headerSpent    = "Spent"    // what its requests have cost until now
	headerAdded    = "Added"    // the part of it that is new in this record
	headerRecorder = "Recorder" // the replica that recorded it
)

// Spent is what requests to models cost: tokens, and millionths of a US dollar where prices are
// known.
type Spent struct{ Tokens, Micros int64 }

// Plus returns the sum.
func (s Spent) Plus(o Spent) Spent { return Spent{s.Tokens + o.Tokens, s.Micros + o.Micros} }

// String returns what parseSpent reads.
func (s Spent) String() string { return fmt.Sprintf("%d %d", s.Tokens, s.Micros) }

// parseSpent reads a header. One that is damaged counts nothing: its turn is damaged, too, and will
// be asked again.
func parseSpent(text string) Spent {
	var s Spent
	if _, err := fmt.Sscanf(text, "%d %d", &s.Tokens, &s.Micros); err != nil || s.Tokens < 0 || s.Micros < 0 {
		return Spent{}
	}
	return s
}

// TurnRecord is a turn to be recorded.
type TurnRecord struct {
	RolloutID string
	// Index is that of the turn's first message.
	Index int32
	Raw   []byte
	// Revision is that of the record which this one takes the place of, 0 if there is none.
	Revision uint64
	// Spent is what the turn has cost in all, and Added what of that is not in the earlier record.
	Spent, Added Spent
	// Recorder is the replica that records it.
	Recorder string
}

// RecordTurn stores a turn of a player. ErrExists if another one than that with the revision is
// stored; after a lost acknowledgement that may be this one.
func (b Recordings) RecordTurn(ctx context.Context, turn TurnRecord) error {
	var cost []header
	if turn.Spent != (Spent{}) {
		cost = []header{{headerSpent, turn.Spent.String()}, {headerAdded, turn.Added.String()}, {headerRecorder, turn.Recorder}}
	}
	if err := b.replace(ctx, recordingStream, turnSubject(turn.RolloutID, turn.Index), turn.Raw, turn.Revision, cost...); err != nil {
		return fmt.Errorf("record turn %d of %s: %w", turn.Index, turn.RolloutID, err)
	}
	return nil
}

func sweepTurnsSubject(sweepID string) string { return "turn." + sweepID + ".>" }

// Spent sums what the recorded turns of a sweep have cost, up to a revision.
func (b Recordings) Spent(ctx context.Context, sweepID string) (sum Spent, revision uint64, err error) {
	turns := make(map[string]Spent) // by subject: a message may come twice, and a turn that is replaced
	err = b.readAll(ctx, recordingStream, sweepTurnsSubject(sweepID), true, func(msg jetstream.Msg) {
		if text := msg.Headers().Get(headerSpent); text != "" {
			turns[msg.Subject()] = parseSpent(text)
		}
		if at, err := msg.Metadata(); err == nil {
			revision = max(revision, at.Sequence.Stream)
		}
	})
	if err != nil {
		return Spent{}, 0, fmt.Errorf("read what sweep %s has spent: %w", sweepID, err)
	}
	for _, spent := range turns {
		sum = sum.Plus(spent)
	}
	return sum, revision, nil
}

// FollowSpent calls visit with what each turn of a sweep has cost that is recorded after a
// revision, as far as its record says, and with who recorded it, until ctx is done (then it returns
// nil).
func (b Recordings) FollowSpent(ctx context.Context, sweepID string, revision uint64, visit func(recorder string, added Spent)) error {
	cfg := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{sweepTurnsSubject(sweepID)}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: revision + 1, HeadersOnly: true,
	}
	return b.followWith(ctx, recordingStream, cfg, func(_ context.Context, msg jetstream.Msg) error {
		if text := msg.Headers().Get(headerAdded); text != "" {
			visit(msg.Headers().Get(headerRecorder), parseSpent(text))
		}
		return nil
	})
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
