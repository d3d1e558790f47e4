package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// writer applies requests in the running transaction. Only the committer uses it.
type writer struct {
	store  *Store
	bucket *bolt.Bucket
	key    []byte // of the last operation; bbolt copies keys
}

// Create creates a session with meta and lastIndex as its highest index. It fails with ErrExists,
// without a change, if the id exists. It returns nil only after the commit. If ctx ends first, it
// returns the context's error, and the session may or may not be created. It keeps no reference to
// its arguments. Other errors: ErrID, ErrClosed, *FatalError.
func (s *Store) Create(ctx context.Context, id string, meta []byte, lastIndex int32) error {
	value := sessionValue(lastIndex, meta)
	return s.write(ctx, "create", id, &request{apply: func(w *writer) (rejected, err error) {
		if old, err := w.session(id); old != nil || err != nil {
			return ErrExists, err
		}
		return nil, w.bucket.Put(w.key, addChecksum(w.key, value))
	}})
}

// Execution is what is stored of one execution in a session.
type Execution struct {
	// Index is the index of the outcome. LastIndex is the session's index after it.
	Index, LastIndex int32
	// Meta is the new meta of the session.
	Meta     []byte
	Versions []Version
	Outcome  []byte
	// MayWait lets the commit wait some milliseconds for other writes.
	MayWait bool
}

// Commit stores an execution in one transaction. It replaces an outcome at the same index and
// versions of the same table and index. The session's highest index becomes the maximum of itself
// and the indexes of the execution. It fails with ErrNotFound, without a change, if the session
// does not exist. It returns nil only after the commit. If ctx ends first, it returns the context's
// error, and the commit may or may not happen; Outcome shows which. It keeps no reference to its
// arguments. Other errors: ErrID, ErrClosed, *FatalError.
func (s *Store) Commit(ctx context.Context, id string, e Execution) error {
	value, versions := sessionValue(max(e.Index, e.LastIndex), e.Meta), checkedVersions(id, e.Versions)
	outcome := addChecksum(appendKey(nil, id, kindOutcome, 0, e.Index), e.Outcome)
	return s.write(ctx, "commit", id, &request{mayWait: e.MayWait, apply: func(w *writer) (rejected, err error) {
		old, err := w.session(id)
		if old == nil || err != nil {
			return ErrNotFound, err
		}
		setHighest(value, max(highest(value), highest(old)))
		if err := w.bucket.Put(w.key, addChecksum(w.key, value)); err != nil {
			return nil, err
		}
		if err := w.putVersions(id, versions); err != nil {
			return nil, err
		}
		w.key = appendKey(w.key[:0], id, kindOutcome, 0, e.Index)
		return nil, w.bucket.Put(w.key, outcome)
	}})
}

// Delete deletes a session, if it exists. It returns nil only after the commit. If ctx ends first,
// it returns the context's error, and the session may or may not be deleted. Other errors: ErrID,
// ErrClosed, *FatalError.
func (s *Store) Delete(ctx context.Context, id string) error {
	return s.write(ctx, "delete", id, &request{apply: func(w *writer) (rejected, err error) {
		prefix := append([]byte(id), 0)
		c := w.bucket.Cursor()
		// Each step seeks anew, because a cursor loses its place when it deletes.
		for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Seek(prefix) {
			if err := c.Delete(); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}})
}

// session returns the value of a session's key, nil if there is none, and leaves the key in w.key.
func (w *writer) session(id string) ([]byte, error) {
	w.key = appendKey(w.key[:0], id, kindSession, 0, 0)
	return w.store.get(w.bucket, w.key)
}

func (w *writer) putVersions(id string, versions []Version) error {
	for _, v := range versions {
		w.key = appendKey(w.key[:0], id, kindVersion, v.Table, v.Index)
		if err := w.bucket.Put(w.key, v.Data); err != nil {
			return err
		}
	}
	return nil
}

// checkedVersions returns copies of versions with checksums. It copies because a caller whose
// context ends may reuse its memory before the commit.
func checkedVersions(id string, versions []Version) []Version {
	versions = slices.Clone(versions)
	var key []byte
	for i, v := range versions {
		key = appendKey(key[:0], id, kindVersion, v.Table, v.Index)
		versions[i].Data = addChecksum(key, v.Data)
	}
	return versions
}

// write makes a change in the next transaction and waits for its commit. operation is for the text
// of errors.
func (s *Store) write(ctx context.Context, operation, id string, r *request) error {
	err := checkID(id)
	if err == nil {
		err = s.submit(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("%s session %q: %w", operation, id, err)
	}
	return nil
}
