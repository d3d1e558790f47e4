package store

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Kinds of keys, in the order in which they sort within a session.
const (
	kindSession byte = 1 // value: highest index (4 bytes, big-endian), then the session's meta
	kindVersion byte = 2 // value: one table version
	kindOutcome byte = 3 // value: one outcome
	kindAnswer  byte = 4 // value: one answer from outside; the key ends with its number
)

const (
	maxID      = 1024 // bytes of a session id
	lastSize   = 4    // bytes of the highest index in front of a session's meta
	suffixSize = 7    // bytes of a key after the id
	indexFlip  = 1 << 31
)

// checkID refuses ids that the key layout cannot hold.
func checkID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("empty id: %w", ErrID)
	case len(id) > maxID:
		return fmt.Errorf("id of %d bytes, at most %d allowed: %w", len(id), maxID, ErrID)
	case strings.IndexByte(id, 0) >= 0:
		return fmt.Errorf("id %q contains NUL: %w", id, ErrID)
	}
	return nil
}

// appendPrefix appends the part that the keys of one kind and table of a session share.
func appendPrefix(b []byte, id string, kind, table byte) []byte {
	b = append(b, id...)
	return append(b, 0, kind, table)
}

// appendKey appends a key. Keys sort by session id, kind, table and index: the NUL after the id is
// smaller than any byte of an id, and the index is big-endian with its sign flipped, so that
// negative ones come first.
func appendKey(b []byte, id string, kind, table byte, index int32) []byte {
	return binary.BigEndian.AppendUint32(appendPrefix(b, id, kind, table), uint32(index)^indexFlip)
}

// keyIndex returns the index in a key made by appendKey.
func keyIndex(key []byte) int32 {
	return int32(binary.BigEndian.Uint32(key[len(key)-4:]) ^ indexFlip)
}

// keyTable returns the table in a key made by appendKey.
func keyTable(key []byte) uint8 { return key[len(key)-5] }

// keyID returns the session id in a key made by appendKey.
func keyID(key []byte) string { return string(key[:len(key)-suffixSize]) }

// sessionValue returns the value of a session's key in memory of its own.
func sessionValue(highest int32, meta []byte) []byte {
	value := make([]byte, lastSize, lastSize+len(meta))
	setHighest(value, highest)
	return append(value, meta...)
}

// setHighest sets the highest index in a session's value.
func setHighest(value []byte, highest int32) { binary.BigEndian.PutUint32(value, uint32(highest)) }

// highest returns the highest index in a session's value.
func highest(value []byte) int32 { return int32(binary.BigEndian.Uint32(value)) }

// sessionSuffix is the end of each session's own key, behind its id.
var sessionSuffix = appendKey(nil, "", kindSession, 0, 0)

// pastSession appends the smallest key that is greater than all keys of a session.
func pastSession(b []byte, id string) []byte { return append(append(b, id...), 1) }
