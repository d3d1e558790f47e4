package store

import "context"

// Update replaces the meta of a session. It fails with ErrNotFound if the session does not exist.
// It returns nil only after the commit, and otherwise behaves as Commit.
func (s *Store) Update(ctx context.Context, id string, meta []byte) error {
	value := sessionValue(0, meta)
	return s.write(ctx, "update", id, &request{apply: func(w *writer) (rejected, err error) {
		old, err := w.session(id)
		if old == nil || err != nil {
			return ErrNotFound, err
		}
		setHighest(value, highest(old))
		return nil, w.bucket.Put(w.key, addChecksum(w.key, value))
	}})
}
