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

// recordingStream holds external input: turns of models and plug-ins, and answers of hosted
// services for replays.
const recordingStream = "RECORDING"

func turnSubject(id string, i int32) string   { return "turn." + id + "." + strconv.Itoa(int(i)) }
func answerSubject(id string, n int32) string { return "answer." + id + "." + strconv.Itoa(int(n)) }

// Headers of a recorded turn.
const (
	headerCost     = "Cost"     // the total cost of its requests
	headerAdded    = "Added"    // the part that is new in this record
	headerRecorder = "Recorder" // the replica that recorded it
)

// Cost is the cost of requests to models: tokens, and millionths of a US dollar where prices are
// known.
type Cost struct{ Tokens, Micros int64 }

// Plus returns the sum.
func (s Cost) Plus(o Cost) Cost { return Cost{s.Tokens + o.Tokens, s.Micros + o.Micros} }

// String formats the amount for parseCost.
func (s Cost) String() string { return fmt.Sprintf("%d %d", s.Tokens, s.Micros) }

// parseCost parses a header. A damaged one counts as zero: its turn is damaged too and will be
// retried.
func parseCost(text string) Cost {
	var s Cost
	if _, err := fmt.Sscanf(text, "%d %d", &s.Tokens, &s.Micros); err != nil || s.Tokens < 0 || s.Micros < 0 {
		return Cost{}
	}
	return s
}

// TurnRecord is a turn to record.
type TurnRecord struct {
	RolloutID string
	// Index is the index of the turn's first message.
	Index int32
	// Raw is the encoded turn. The bus does not keep it.
	Raw []byte
	// Revision is the revision of the record to replace, 0 if there is none.
	Revision uint64
	// Cost is the total cost of the turn. Added is the part that the replaced record lacks.
	Cost, Added Cost
	// Recorder is the recording replica.
	Recorder string
}

// RecordTurn stores a player's turn. The error is ErrExists if the stored record has another
// revision; after a lost acknowledgement that may be this one.
func (b Recordings) RecordTurn(ctx context.Context, turn TurnRecord) error {
	var cost []header
	if turn.Cost != (Cost{}) {
		cost = []header{{headerCost, turn.Cost.String()}, {headerAdded, turn.Added.String()}, {headerRecorder, turn.Recorder}}
	}
	if err := b.replace(ctx, recordingStream, turnSubject(turn.RolloutID, turn.Index), turn.Raw, turn.Revision, cost...); err != nil {
		return fmt.Errorf("record turn %d of %s: %w", turn.Index, turn.RolloutID, err)
	}
	return nil
}

func sweepTurnsSubject(sweepID string) string { return "turn." + sweepID + ".>" }

// Spending returns the total cost of the recorded turns of a sweep, up to a revision.
func (b Recordings) Spending(ctx context.Context, sweepID string) (sum Cost, revision uint64, err error) {
	turns := make(map[string]Cost) // by subject: a message may be visited twice, and a turn may be replaced
	err = b.readAll(ctx, recordingStream, sweepTurnsSubject(sweepID), true, func(msg jetstream.Msg) {
		if text := msg.Headers().Get(headerCost); text != "" {
			turns[msg.Subject()] = parseCost(text)
		}
		if meta, err := msg.Metadata(); err == nil {
			revision = max(revision, meta.Sequence.Stream)
		}
	})
	if err != nil {
		return Cost{}, 0, fmt.Errorf("read what sweep %s has spent: %w", sweepID, err)
	}
	for _, spent := range turns {
		sum = sum.Plus(spent)
	}
	return sum, revision, nil
}

// SpendingAfter returns what Spending does. It reads the turns that were recorded after an earlier
// answer, and all if one of them replaced a turn, which that answer may lack.
func (b Recordings) SpendingAfter(ctx context.Context, sweepID string, earlier Cost, revision uint64) (sum Cost, last uint64, err error) {
	cfg := jetstream.ConsumerConfig{
		FilterSubject: sweepTurnsSubject(sweepID), DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: revision + 1, HeadersOnly: true,
	}
	last = revision
	replaced := false
	turns := make(map[uint64]Cost) // by sequence: a message may be visited twice, after later ones
	err = b.readWith(ctx, recordingStream, cfg, func(msg jetstream.Msg) {
		if meta, err := msg.Metadata(); err == nil {
			last = max(last, meta.Sequence.Stream)
			if text := msg.Headers().Get(headerAdded); text != "" {
				turns[meta.Sequence.Stream] = parseCost(text)
				replaced = replaced || text != msg.Headers().Get(headerCost)
			}
		}
	})
	if err != nil {
		return Cost{}, 0, fmt.Errorf("read what sweep %s has spent: %w", sweepID, err)
	}
	if replaced {
		return b.Spending(ctx, sweepID)
	}
	sum = earlier
	for _, spent := range turns {
		sum = sum.Plus(spent)
	}
	return sum, last, nil
}

// FollowSpending calls visit with the recorder and the added cost of each turn of a sweep that is
// recorded after a revision, until ctx is done (then it returns nil).
func (b Recordings) FollowSpending(ctx context.Context, sweepID string, revision uint64, visit func(recorder string, added Cost)) error {
	cfg := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{sweepTurnsSubject(sweepID)}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: revision + 1, HeadersOnly: true,
	}
	return b.followWith(ctx, recordingStream, cfg, func(msg jetstream.Msg) error {
		if text := msg.Headers().Get(headerAdded); text != "" {
			visit(msg.Headers().Get(headerRecorder), parseCost(text))
		}
		return nil
	})
}

// Turn returns a recorded turn with its revision. The error is ErrNotFound if there is none.
func (b Recordings) Turn(ctx context.Context, rolloutID string, index int32) (raw []byte, revision uint64, err error) {
	msg, _, err := b.newestSealed(ctx, recordingStream, turnSubject(rolloutID, index))
	if err != nil {
		return nil, 0, fmt.Errorf("read turn: %w", err)
	}
	return msg.Data, msg.Sequence, nil
}

// PutTurn stores a turn for the replay of a rollout. The error is ErrExists if a different one is
// stored. It is idempotent.
func (b Recordings) PutTurn(ctx context.Context, rolloutID string, index int32, raw []byte) error {
	return b.put(ctx, recordingStream, turnSubject(rolloutID, index), raw)
}

// PutAnswer stores the n-th answer of a hosted service, as PutTurn does.
func (b Recordings) PutAnswer(ctx context.Context, rolloutID string, n int32, raw []byte) error {
	return b.put(ctx, recordingStream, answerSubject(rolloutID, n), raw)
}

func (b Recordings) put(ctx context.Context, stream, subject string, raw []byte) error {
	existing, err := b.create(ctx, stream, subject, raw, checkSealed)
	if err == nil && existing != nil && !bytes.Equal(existing.Data, raw) {
		err = ErrExists
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", subject, err)
	}
	return nil
}

// Visit receives the data recorded under an index. Its error ends the iteration and is returned.
type Visit func(index int32, raw []byte) error

// Turns visits every recorded turn of a rollout in the order of its messages.
func (b Recordings) Turns(ctx context.Context, rolloutID string, visit Visit) error {
	return b.visit(ctx, recordingStream, "turn."+rolloutID, visit)
}

// Answers visits every answer for the replay of a rollout in order.
func (b Recordings) Answers(ctx context.Context, rolloutID string, visit Visit) error {
	return b.visit(ctx, recordingStream, "answer."+rolloutID, visit)
}

// visit visits the messages one token below a subject in the numeric order of those tokens. The
// server indexes messages by subject, so lookups by subject avoid scanning the messages between
// them.
func (b Recordings) visit(ctx context.Context, stream, subject string, visit Visit) error {
	info, err := b.info(ctx, stream, subject+".*")
	if err != nil {
		return fmt.Errorf("read %s: %w", subject, err)
	}
	indices := make([]int32, 0, len(info.State.Subjects))
	for name := range info.State.Subjects {
		if index, err := strconv.ParseInt(strings.TrimPrefix(name, subject+"."), 10, 32); err == nil { // else it is foreign
			indices = append(indices, int32(index))
		}
	}
	slices.Sort(indices)
	for _, index := range indices {
		msg, _, err := b.newestSealed(ctx, stream, subject+"."+strconv.Itoa(int(index)))
		if errors.Is(err, ErrNotFound) {
			continue // it was just removed, or is foreign
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
