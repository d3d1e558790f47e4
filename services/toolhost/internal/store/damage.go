package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// CorruptError reports a corrupt file. None of its content is reliable.
type CorruptError struct {
	path  string
	cause error
}

// Error names the file, the cause and what follows.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("store %s is damaged: %v: the next start sets the file aside, and makes its sessions anew from their logs", e.path, e.cause)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.cause }

// OpenOrReplace opens the store at cfg.Path like Open. If the file is corrupt, it renames it to
// NAME.damaged-TIME and creates a new one. replaced describes that, nil if the file was sound. now
// is the TIME.
func OpenOrReplace(cfg Config, now time.Time) (s *Store, replaced *Replaced, err error) {
	s, err = Open(cfg)
	corrupt, ok := errors.AsType[*CorruptError](err)
	if !ok {
		return s, nil, err
	}
	replaced = &Replaced{Aside: cfg.Path + ".damaged-" + now.UTC().Format("20060102T150405.000000000"), Cause: corrupt.cause}
	if err := os.Rename(cfg.Path, replaced.Aside); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", corrupt, err)
	}
	s, err = Open(cfg)
	return s, replaced, err
}

// Replaced describes a corrupt file that was replaced by a new one.
type Replaced struct {
	Aside string // its new path
	Cause error
}

// recoverCorrupt turns bbolt's panics and memory faults on a corrupt file into an error. Defer it
// with the result of debug.SetPanicOnFault(true).
func recoverCorrupt(path string, before bool, err *error) {
	debug.SetPanicOnFault(before)
	if cause := recover(); cause != nil {
		*err = &CorruptError{path: path, cause: fmt.Errorf("%v", cause)}
	}
}

// view runs a read transaction. Corruption fails the store.
func (s *Store) view(f func(tx *bolt.Tx) error) (err error) {
	defer func() {
		if errors.As(err, new(*CorruptError)) {
			s.fail(&FatalError{path: s.path, cause: err})
		}
	}()
	defer recoverCorrupt(s.path, debug.SetPanicOnFault(true), &err)
	return s.db.View(f)
}

// update runs a write transaction. After corruption it stays open, because rollback reads the file
// in a goroutine that cannot be recovered.
func (s *Store) update(f func(tx *bolt.Tx) error) (err error) {
	defer recoverCorrupt(s.path, debug.SetPanicOnFault(true), &err)
	tx, err := s.db.Begin(true)
	if err != nil {
		return err
	}
	if err = f(tx); errors.As(err, new(*CorruptError)) {
		return err
	}
	if err == nil {
		return tx.Commit()
	}
	return errors.Join(err, tx.Rollback())
}

// checkFile checks the whole file, if it exists, before bbolt opens it. bbolt searches free pages
// in a goroutine that cannot be recovered.
func checkFile(cfg Config) (err error) {
	defer recoverCorrupt(cfg.Path, debug.SetPanicOnFault(true), &err)
	info, err := os.Stat(cfg.Path)
	if errors.Is(err, os.ErrNotExist) || err == nil && (info.Size() == 0 || !info.Mode().IsRegular()) {
		return nil
	}
	if err != nil {
		return err
	}
	if minSize := 2 * int64(os.Getpagesize()); info.Size() < minSize { // bbolt has no error of its own for it
		return &CorruptError{path: cfg.Path, cause: fmt.Errorf("%d bytes, expected at least %d", info.Size(), minSize)}
	}
	db, err := bolt.Open(cfg.Path, 0o600, &bolt.Options{Timeout: cfg.OpenTimeout, ReadOnly: true}) // waits for who writes
	for _, damage := range []error{berrors.ErrInvalid, berrors.ErrVersionMismatch, berrors.ErrChecksum} {
		if errors.Is(err, damage) {
			return &CorruptError{path: cfg.Path, cause: err}
		}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	file, err := os.Open(cfg.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	err = check(file, db.Info().PageSize, func(bucket, key, value []byte) error {
		if !bytes.Equal(bucket, bucketSession) {
			return nil
		}
		_, err := checkedValue(key, value)
		return err
	})
	if err != nil {
		return &CorruptError{path: cfg.Path, cause: err}
	}
	return nil
}

// fail sets the store's fatal error. It writes nothing afterwards.
func (s *Store) fail(fatal *FatalError) {
	if s.fatal.CompareAndSwap(nil, fatal) {
		s.failed <- fatal
	}
}

// isCorrupt reports whether corruption was found. bbolt may hold its locks for ever then.
func (s *Store) isCorrupt() bool {
	fatal := s.fatal.Load()
	return fatal != nil && errors.As(fatal, new(*CorruptError))
}

// value is checkedValue with the file in its error.
func (s *Store) value(key, stored []byte) ([]byte, error) {
	value, err := checkedValue(key, stored)
	if err != nil {
		return nil, &CorruptError{path: s.path, cause: err}
	}
	return value, nil
}

// get returns the value of a key, nil if there is none.
func (s *Store) get(b *bolt.Bucket, key []byte) ([]byte, error) {
	stored := b.Get(key)
	if stored == nil {
		return nil, nil
	}
	return s.value(key, stored)
}
