package bus

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// ErrDamaged means that stored data is missing, unreadable or corrupt. The message names the
// rollout or document, the stream and, if known, the sequence.
var ErrDamaged = errors.New("stored data is damaged")

// digestField is the number of LogEntry.digest.
const digestField = 8

// sealSize is the size of LogEntry.digest on the wire: its tag, its length and a SHA-256.
const sealSize = 2 + sha256.Size

// Position is the end of a log. The zero value is that of an empty log.
type Position struct {
	// Sequence is the stream sequence of the last entry.
	Sequence uint64
	// Entries counts the entries since the log's start.
	Entries int32
	// Digest is the digest of the last entry.
	Digest []byte
}

// encodeEntry numbers an entry, chains it to the previous one and returns its stored form, which
// ends with its digest.
func encodeEntry(entry *busv1.LogEntry, after Position) ([]byte, error) {
	entry.Number, entry.Previous, entry.Digest = after.Entries, after.Digest, nil
	if entry.GetStart() != nil {
		entry.Number, entry.Previous = 0, nil
	}
	options := proto.MarshalOptions{Deterministic: true}
	raw := make([]byte, 0, options.Size(entry)+sealSize)
	options.UseCachedSize = true // the entry has just been measured
	raw, err := options.MarshalAppend(raw, entry)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	entry.Digest = sum[:]
	return protowire.AppendBytes(protowire.AppendTag(raw, digestField, protowire.BytesType), sum[:]), nil
}

// decodeEntry decodes a stored entry and verifies its digest.
func decodeEntry(raw []byte) (*busv1.LogEntry, error) {
	content := len(raw) - sealSize
	if content < 0 {
		return nil, errors.New("it has no digest")
	}
	sum := sha256.Sum256(raw[:content])
	want := protowire.AppendBytes(protowire.AppendTag(nil, digestField, protowire.BytesType), sum[:])
	if !bytes.Equal(raw[content:], want) {
		return nil, errors.New("its digest is not that of its content")
	}
	entry := &busv1.LogEntry{}
	if err := proto.Unmarshal(raw, entry); err != nil {
		return nil, err
	}
	return entry, nil
}

// Follows returns an error if an entry cannot follow a position: an entry between them is missing,
// or the log was rewritten. An entry that opens a log follows anything.
func Follows(entry *busv1.LogEntry, after Position) error {
	switch {
	case entry.GetStart() != nil:
		return nil
	case entry.GetNumber() != after.Entries:
		return fmt.Errorf("it is entry %d, expected entry %d", entry.GetNumber(), after.Entries)
	case !bytes.Equal(entry.GetPrevious(), after.Digest):
		return fmt.Errorf("entry %d was appended to %.12x, expected %.12x", entry.GetNumber(), entry.GetPrevious(), after.Digest)
	}
	return nil
}

// positionOf returns the position after an entry.
func positionOf(entry *busv1.LogEntry, sequence uint64) Position {
	return Position{Sequence: sequence, Entries: entry.GetNumber() + 1, Digest: entry.GetDigest()}
}
