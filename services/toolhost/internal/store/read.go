package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// page is the number of sessions that List reads in one transaction.
const page = 256

// Load returns a copy of a session without its outcomes. Errors: ErrNotFound, ErrID, ErrClosed.
func (s *Store) Load(id string) (*Record, error) {
	var record *Record
	err := s.read("load", id, func(b *bolt.Bucket, value []byte) error {
		record = &Record{Meta: bytes.Clone(value[lastSize:]), LastIndex: highest(value)}
		prefix := append([]byte(id), 0, kindVersion)
		c := b.Cursor()
		for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
			data, err := s.value(k, v)
			if err != nil {
				return err
			}
			record.Versions = append(record.Versions, Version{Table: keyTable(k), Index: keyIndex(k), Data: bytes.Clone(data)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return record, nil
}

// VersionAt returns a copy of the newest of a session's own versions of a table up to index at, and
// that version's index. ok is false if there is none. Errors: ErrNotFound if the session does not
// exist, ErrID, ErrClosed.
func (s *Store) VersionAt(id string, table uint8, at int32) (data []byte, index int32, ok bool, err error) {
	err = s.read("read versions of", id, func(b *bolt.Bucket, _ []byte) error {
		prefix := appendPrefix(nil, id, kindVersion, table)
		want := appendKey(nil, id, kindVersion, table, at)
		c := b.Cursor()
		k, v := c.Seek(want)
		switch {
		case k == nil:
			k, v = c.Last()
		case !bytes.Equal(k, want):
			k, v = c.Prev()
		}
		if !bytes.HasPrefix(k, prefix) {
			return nil
		}
		found, err := s.value(k, v)
		if err != nil {
			return err
		}
		data, index, ok = bytes.Clone(found), keyIndex(k), true
		return nil
	})
	return data, index, ok, err
}

// Outcome returns a copy of the outcome committed at an index. Errors: ErrNotFound if the outcome
// or the session does not exist, ErrID, ErrClosed.
func (s *Store) Outcome(id string, index int32) ([]byte, error) {
	var outcome []byte
	err := s.read("read outcome of", id, func(b *bolt.Bucket, _ []byte) error {
		v, err := s.get(b, appendKey(nil, id, kindOutcome, 0, index))
		if err != nil {
			return err
		}
		if v == nil {
			return fmt.Errorf("outcome %d: %w", index, ErrNotFound)
		}
		outcome = bytes.Clone(v)
		return nil
	})
	return outcome, err
}

// Outcomes calls visit with each outcome of a session, by index, in its state at the start of the
// call. visit runs outside of transactions and may keep its arguments. An error of visit ends the
// calls and is returned unchanged. Other errors: ErrNotFound if the session does not exist, ErrID,
// ErrClosed.
func (s *Store) Outcomes(id string, visit func(index int32, outcome []byte) error) error {
	var found []Version
	err := s.read("read outcomes of", id, func(b *bolt.Bucket, _ []byte) error {
		prefix := appendPrefix(nil, id, kindOutcome, 0)
		c := b.Cursor()
		for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
			data, err := s.value(k, v)
			if err != nil {
				return err
			}
			found = append(found, Version{Index: keyIndex(k), Data: bytes.Clone(data)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, o := range found {
		if err := visit(o.Index, o.Data); err != nil {
			return err
		}
	}
	return nil
}

// listedSession is a session that List returns.
type listedSession struct {
	id   string
	meta []byte
	last int32
}

// List calls visit with each session whose id begins with prefix and sorts after the given id (""
// for the first page), by the bytes of the id, up to limit sessions (all if limit is not positive).
// more reports whether others follow. visit runs outside of transactions and may keep its
// arguments. Sessions that are created or deleted meanwhile may or may not be visited. An error of
// visit ends the calls and is returned unchanged. Other errors: ErrID if prefix or after contains
// NUL, ErrClosed.
func (s *Store) List(prefix, after string, limit int, visit func(id string, meta []byte, lastIndex int32) error) (more bool, err error) {
	if strings.IndexByte(prefix, 0) >= 0 || strings.IndexByte(after, 0) >= 0 {
		return false, fmt.Errorf("list sessions %q after %q: contains NUL: %w", prefix, after, ErrID)
	}
	if limit <= 0 {
		limit = math.MaxInt
	}
	for more = true; more && limit > 0; {
		var sessions []listedSession
		if sessions, more, err = s.listPage(prefix, after, min(limit, page)); err != nil {
			return false, err
		}
		for _, l := range sessions {
			if err := visit(l.id, l.meta, l.last); err != nil {
				return false, err
			}
			after = l.id
		}
		limit -= len(sessions)
	}
	return more, nil
}

// listPage reads up to limit sessions and reports whether more follow.
func (s *Store) listPage(prefix, after string, limit int) (sessions []listedSession, more bool, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		start := []byte(prefix)
		if after != "" && after >= prefix {
			start = pastSession(nil, after)
		}
		c := tx.Bucket(bucketSession).Cursor()
		// A session's own key is its first, so seeking past all keys of one session finds the next.
		for k, v := c.Seek(start); k != nil && bytes.HasPrefix(k, []byte(prefix)); k, v = c.Seek(start) {
			if len(sessions) == limit {
				more = true
				return nil
			}
			value, err := s.value(k, v)
			if err != nil {
				return err
			}
			if bytes.Compare(k, start) < 0 || !bytes.HasSuffix(k, sessionSuffix) {
				return &CorruptError{path: s.path, cause: fmt.Errorf("key %q, expected a session's own and %q at least", k, start)}
			}
			l := listedSession{id: keyID(k), meta: bytes.Clone(value[lastSize:]), last: highest(value)}
			sessions = append(sessions, l)
			start = pastSession(start[:0], l.id)
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("list sessions: %w", readError(err))
	}
	return sessions, more, nil
}

// read runs f in a read transaction with the bucket and the value of the session's key. operation
// is for the text of errors.
func (s *Store) read(operation, id string, f func(b *bolt.Bucket, value []byte) error) error {
	err := checkID(id)
	if err == nil {
		err = s.view(func(tx *bolt.Tx) error {
			b := tx.Bucket(bucketSession)
			value, err := s.get(b, appendKey(nil, id, kindSession, 0, 0))
			if err != nil {
				return err
			}
			if value == nil {
				return ErrNotFound
			}
			return f(b, value)
		})
	}
	if err != nil {
		return fmt.Errorf("%s session %q: %w", operation, id, readError(err))
	}
	return nil
}

// readError replaces bbolt's error for a closed file.
func readError(err error) error {
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}
