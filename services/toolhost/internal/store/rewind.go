package store

import (
	"bytes"
	"context"
)

// Rewind takes a session back to an index: outcomes and versions after it go, meta is replaced, and
// the index becomes the session's highest. Answers stay: an execution that runs again finds what it
// was answered. It fails with ErrNotFound when there is no such session. It returns nil only after
// the commit, and otherwise behaves as Commit.
func (s *Store) Rewind(ctx context.Context, id string, index int32, meta []byte) error {
	value := sessionValue(index, meta)
	return s.write(ctx, "rewind", id, func(w *writer) (rejected, err error) {
		if old, err := w.session(id); old == nil || err != nil {
			return ErrNotFound, err
		}
		if err := w.bucket.Put(w.key, seal(w.key, value)); err != nil {
			return nil, err
		}
		for _, kind := range []byte{kindVersion, kindOutcome} {
			if err := w.dropAfter(id, kind, index); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}

// dropAfter removes what a session has of a kind after an index.
func (w *writer) dropAfter(id string, kind byte, index int32) error {
	prefix := append([]byte(id), 0, kind)
	c := w.bucket.Cursor()
	var later [][]byte
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		if keyIndex(k) > index {
			later = append(later, bytes.Clone(k))
		}
	}
	for _, key := range later {
		if err := w.bucket.Delete(key); err != nil {
			return err
		}
	}
	return nil
}
