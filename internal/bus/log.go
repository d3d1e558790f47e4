package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// Append appends an entry to a rollout's log and returns the position after it, for the next call.
// It sets the entry's number and digests. after is the caller's position, the zero value for a new
// log. The error is ErrFenced if after is not the end of the log; then nothing was written. After
// any other error the entry may have been written. Appending the same entry again at the same
// position is safe.
func (b Logs) Append(ctx context.Context, rolloutID string, entry *busv1.LogEntry, after Position) (Position, error) {
	raw, err := encodeEntry(entry, after)
	if err != nil {
		return Position{}, fmt.Errorf("append to log of %s: %w", rolloutID, err)
	}
	shard := b.shardOf(rolloutID)
	subject := logSubject(shard, rolloutID)
	seq, retried, err := b.publish(ctx, subject, raw, expectLast(after.Sequence))
	if isWrongSequence(err) && retried {
		// The acknowledgement may be lost: check whether this call moved the log.
		if last, lastErr := b.lastMessage(ctx, logStream(shard), subject); lastErr == nil && bytes.Equal(last.Data, raw) {
			return positionOf(entry, last.Sequence), nil
		}
	}
	if isWrongSequence(err) {
		err = ErrFenced
	}
	if err != nil {
		return Position{}, fmt.Errorf("append to log of %s: %w", rolloutID, err)
	}
	return positionOf(entry, seq), nil
}

// Reopen appends an entry that restarts an unreadable log. end is the log's end. If even the newest
// entry is unreadable, end is the zero value, and Reopen first removes the rest of the log. Errors
// are those of Append.
func (b Logs) Reopen(ctx context.Context, rolloutID string, entry *busv1.LogEntry, end Position) (Position, error) {
	if end.Sequence == 0 {
		stream := logStream(b.shardOf(rolloutID))
		if err := b.purge(ctx, stream, logSubject(b.shardOf(rolloutID), rolloutID)); err != nil {
			return Position{}, fmt.Errorf("remove damaged log of %s: %w", rolloutID, err)
		}
	}
	return b.Append(ctx, rolloutID, entry, end)
}

// Log is a stored log of a rollout.
type Log struct {
	// Entries are the entries since the last one that opened the log, oldest first.
	Entries []*busv1.LogEntry
	// End is the position of the next Append.
	End Position
	// Times are the times when the entries were stored, for display only. Nothing reproducible may
	// depend on them.
	Times []time.Time
}

// ReadLog returns a rollout's log, without entries if there is none. The error is ErrDamaged if an
// entry is missing or corrupt; the log then contains the entries after that one. It reads backwards
// along the links between entries, because a forward search would make the server scan entries of
// other rollouts.
func (b Logs) ReadLog(ctx context.Context, rolloutID string) (*Log, error) {
	log := &Log{}
	stream, subject := logStream(b.shardOf(rolloutID)), logSubject(b.shardOf(rolloutID), rolloutID)
	msg, err := b.lastMessage(ctx, stream, subject)
	if errors.Is(err, ErrNotFound) {
		if msg, err = b.confirmLast(ctx, stream, subject, rolloutID); msg == nil && err == nil {
			return log, nil
		}
	}
	for err == nil {
		var entry *busv1.LogEntry
		if entry, err = b.previousEntry(log, msg, rolloutID, subject); err != nil {
			err = fmt.Errorf("%w: log of rollout %s, stream %s, sequence %d: %w", ErrDamaged, rolloutID, stream, msg.Sequence, err)
			break
		}
		log.Entries, log.Times = append(log.Entries, entry), append(log.Times, msg.Time)
		if entry.GetStart() != nil {
			break
		}
		previous, parseErr := strconv.ParseUint(msg.Header.Get(jetstream.ExpectedLastSubjSeqHeader), 10, 64)
		if parseErr != nil || previous == 0 {
			err = fmt.Errorf("%w: log of rollout %s, stream %s, sequence %d: it neither opens a log nor names an entry before it",
				ErrDamaged, rolloutID, stream, msg.Sequence)
			break
		}
		if msg, err = b.messageAt(ctx, stream, previous); errors.Is(err, ErrNotFound) {
			err = fmt.Errorf("%w: log of rollout %s, stream %s, sequence %d: entry %d is gone or cannot be read",
				ErrDamaged, rolloutID, stream, previous, entry.GetNumber()-1)
		}
	}
	if err != nil && !errors.Is(err, ErrDamaged) {
		return nil, fmt.Errorf("read log of %s: %w", rolloutID, err)
	}
	slices.Reverse(log.Entries)
	slices.Reverse(log.Times)
	return log, err
}

// previousEntry decodes the entry before those that were read, which are in reverse order.
func (b Logs) previousEntry(log *Log, msg *jetstream.RawStreamMsg, rolloutID, subject string) (*busv1.LogEntry, error) {
	if msg.Subject != subject {
		return nil, fmt.Errorf("an entry of %s stands there", msg.Subject)
	}
	entry, err := decodeEntry(msg.Data)
	if err != nil {
		return nil, err
	}
	if start := entry.GetStart(); start != nil && start.GetRollout().GetId() != rolloutID {
		return nil, fmt.Errorf("it opens the log of rollout %q", start.GetRollout().GetId())
	}
	if len(log.Entries) == 0 {
		log.End = positionOf(entry, msg.Sequence)
		return entry, nil
	}
	return entry, Follows(log.Entries[len(log.Entries)-1], positionOf(entry, msg.Sequence))
}

// confirmLast repeats a lookup that did not find the last message of a subject. It returns nil if
// the subject has no messages. The error is ErrDamaged if the last message is unreadable.
func (b Logs) confirmLast(ctx context.Context, stream, subject, rolloutID string) (*jetstream.RawStreamMsg, error) {
	info, err := b.info(ctx, stream, subject)
	if err != nil || info.State.Subjects[subject] == 0 {
		return nil, err
	}
	msg, err := b.lastMessage(ctx, stream, subject) // it may have been written just now
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("%w: log of rollout %s, stream %s: the newest of its %d entries cannot be read",
			ErrDamaged, rolloutID, stream, info.State.Subjects[subject])
	}
	return msg, err
}

// PublishSnapshot publishes the table versions of one execution. It is idempotent.
func (b Snapshots) PublishSnapshot(ctx context.Context, snapshot *busv1.Snapshot) error {
	raw, err := proto.Marshal(snapshot)
	if err != nil {
		return fmt.Errorf("publish snapshot of %s: %w", snapshot.GetSessionId(), err)
	}
	if _, _, err := b.publish(ctx, snapshotSubject(b.shardOf(snapshot.GetSessionId()), snapshot.GetSessionId()), raw); err != nil {
		return fmt.Errorf("publish snapshot of %s: %w", snapshot.GetSessionId(), err)
	}
	return nil
}

// ReadSnapshots returns all readable snapshots of a session, oldest first, possibly with
// duplicates. Comparison with the versions in the log reveals missing ones.
func (b Snapshots) ReadSnapshots(ctx context.Context, sessionID string) ([]*busv1.Snapshot, error) {
	var snapshots []*busv1.Snapshot
	shard := b.shardOf(sessionID)
	subject := snapshotSubject(shard, sessionID)
	err := b.eachMessage(ctx, snapshotStream(shard), subject, func(msg *jetstream.RawStreamMsg) error {
		if snapshot, err := decode[busv1.Snapshot](subject, msg.Data); err == nil {
			snapshots = append(snapshots, snapshot)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read snapshots of %s: %w", sessionID, err)
	}
	return snapshots, nil
}

// LogStream returns the name of the stream of a rollout's log, for display.
func (b Logs) LogStream(rolloutID string) string { return logStream(b.shardOf(rolloutID)) }

// SnapshotStream returns the name of the stream of a session's snapshots, for display.
func (b Snapshots) SnapshotStream(sessionID string) string {
	return snapshotStream(b.shardOf(sessionID))
}
