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

// Append adds an entry to a rollout's log and returns its stream sequence, which is the lastSeq of the next append.
// lastSeq is the sequence of the log's last entry as the caller knows it, 0 for a new log. ErrFenced means that
// it is not the last one: nothing was written. After any other error the entry may have been written; appending the same
// entry again with the same lastSeq is safe and finds out.
func (b *Bus) Append(ctx context.Context, rolloutID string, entry *busv1.LogEntry, lastSeq uint64) (uint64, error) {
	raw, err := proto.Marshal(entry)
	if err != nil {
		return 0, fmt.Errorf("append to log of %s: %w", rolloutID, err)
	}
	shard := b.shardOf(rolloutID)
	subject := logSubject(shard, rolloutID)
	seq, repeated, err := b.publish(ctx, subject, raw, jetstream.WithExpectLastSequencePerSubject(lastSeq))
	if isWrongSequence(err) && repeated {
		// The acknowledgement may be what was lost: look whether it was us who moved the log.
		if last, lastErr := b.last(ctx, logStream(shard), subject); lastErr == nil && bytes.Equal(last.Data, raw) {
			return last.Sequence, nil
		}
	}
	if isWrongSequence(err) {
		return 0, fmt.Errorf("append to log of %s: %w", rolloutID, ErrFenced)
	}
	if err != nil {
		return 0, fmt.Errorf("append to log of %s: %w", rolloutID, err)
	}
	return seq, nil
}

// Log is a rollout's log as it is stored.
type Log struct {
	// Entries are all entries, oldest first.
	Entries []*busv1.LogEntry
	// Last is the stream sequence of the last entry, 0 if there is none: the lastSeq of the next Append.
	Last uint64
	// Begun and Updated are when the first and the last entry were stored. For people only: nothing that is reproducible may
	// depend on them.
	Begun, Updated time.Time
}

// ReadLog returns a rollout's log; it has no entries if there is none. Each entry says which one it was appended to, so that it is read from its
// end: to look for the next entry the server would walk over those of other rollouts in between.
func (b *Bus) ReadLog(ctx context.Context, rolloutID string) (*Log, error) {
	log := &Log{}
	stream := logStream(b.shardOf(rolloutID))
	msg, err := b.last(ctx, stream, logSubject(b.shardOf(rolloutID), rolloutID))
	for err == nil {
		var entry *busv1.LogEntry
		if entry, err = decode[busv1.LogEntry](msg.Subject, msg.Data); err != nil {
			break
		}
		if len(log.Entries) == 0 {
			log.Last, log.Updated = msg.Sequence, msg.Time
		}
		log.Entries, log.Begun = append(log.Entries, entry), msg.Time
		var before uint64
		if before, err = strconv.ParseUint(msg.Header.Get(jetstream.ExpectedLastSubjSeqHeader), 10, 64); err != nil || before == 0 {
			break
		}
		msg, err = b.at(ctx, stream, before)
	}
	if err != nil && !errors.Is(err, ErrNotFound) { // there is none, or its retention has ended
		return nil, fmt.Errorf("read log of %s: %w", rolloutID, err)
	}
	slices.Reverse(log.Entries)
	return log, nil
}

// PublishSnapshot adds the table versions of one execution to the session's snapshots. Publishing the same one again
// is harmless.
func (b *Bus) PublishSnapshot(ctx context.Context, snapshot *busv1.Snapshot) error {
	raw, err := proto.Marshal(snapshot)
	if err != nil {
		return fmt.Errorf("publish snapshot of %s: %w", snapshot.GetSessionId(), err)
	}
	if _, _, err := b.publish(ctx, snapshotSubject(b.shardOf(snapshot.GetSessionId()), snapshot.GetSessionId()), raw); err != nil {
		return fmt.Errorf("publish snapshot of %s: %w", snapshot.GetSessionId(), err)
	}
	return nil
}

// ReadSnapshots returns all snapshots of a session, oldest first; the same one may occur more than once.
func (b *Bus) ReadSnapshots(ctx context.Context, sessionID string) ([]*busv1.Snapshot, error) {
	var snapshots []*busv1.Snapshot
	shard := b.shardOf(sessionID)
	subject := snapshotSubject(shard, sessionID)
	err := b.all(ctx, snapshotStream(shard), subject, func(msg *jetstream.RawStreamMsg) error {
		snapshot, err := decode[busv1.Snapshot](subject, msg.Data)
		snapshots = append(snapshots, snapshot)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read snapshots of %s: %w", sessionID, err)
	}
	return snapshots, nil
}
