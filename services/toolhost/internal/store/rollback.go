package store

import (
	"bytes"
	"context"
)

// RollBack resets a session to an index: it deletes later outcomes and versions, replaces meta, and
// sets the session's highest index. It keeps answers, so that a repeated execution finds them. It
// fails with ErrNotFound if the session does not exist. It returns nil only after the commit, and
// otherwise behaves as Commit.
func (s *Store) RollBack(ctx context.Context, id string, index int32, meta []byte) error {
	value := sessionValue(index, meta)
	return s.write(ctx, "roll back", id, &request{apply: func(w *writer) (rejected, err error) {
		if old, err := w.session(id); old == nil || err != nil {
			return ErrNotFound, err
		}
		if err := w.bucket.Put(w.key, addChecksum(w.key, value)); err != nil {
			return nil, err
		}
		for _, kind := range []byte{kindVersion, kindOutcome} {
			if err := w.dropAfter(id, kind, index); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}})
}

// dropAfter deletes a session's values of a kind after an index.
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
