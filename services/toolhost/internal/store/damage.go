package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// DamageError says that the file does not hold what was stored. Nothing of it can be relied on.
type DamageError struct {
	path  string
	cause error
}

// Error names the file, the cause and the remedy.
func (e *DamageError) Error() string {
	return fmt.Sprintf("store %s is damaged: %v: remove the file; its sessions are made anew from their logs", e.path, e.cause)
}

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.cause }

// guard turns what bbolt does with a damaged file into an error: it panics, or reads memory where
// no file is, which is a fault. Call it deferred, with what debug.SetPanicOnFault(true) returned.
func guard(path string, before bool, err *error) {
	debug.SetPanicOnFault(before)
	if cause := recover(); cause != nil {
		*err = &DamageError{path: path, cause: fmt.Errorf("%v", cause)}
	}
}

// view runs a read transaction. Damage is the end of the store.
func (s *Store) view(f func(tx *bolt.Tx) error) (err error) {
	defer func() {
		if errors.As(err, new(*DamageError)) {
			s.fail(&FatalError{path: s.path, cause: err})
		}
	}()
	defer guard(s.path, debug.SetPanicOnFault(true), &err)
	return s.db.View(f)
}

// update runs a write transaction. After damage it stays open: to roll back, bbolt reads the file
// in a goroutine of its own, where nobody recovers its panic.
func (s *Store) update(f func(tx *bolt.Tx) error) (err error) {
	defer guard(s.path, debug.SetPanicOnFault(true), &err)
	tx, err := s.db.Begin(true)
	if err != nil {
		return err
	}
	if err = f(tx); errors.As(err, new(*DamageError)) {
		return err
	}
	if err == nil {
		return tx.Commit()
	}
	return errors.Join(err, tx.Rollback())
}

// checkFile reads the whole file, if there is one, before bbolt does: to find the free pages, it
// reads the file in a goroutine of its own too.
func checkFile(cfg Config) (err error) {
	defer guard(cfg.Path, debug.SetPanicOnFault(true), &err)
	info, err := os.Stat(cfg.Path)
	if errors.Is(err, os.ErrNotExist) || err == nil && (info.Size() == 0 || !info.Mode().IsRegular()) {
		return nil
	}
	if err != nil {
		return err
	}
	if least := 2 * int64(os.Getpagesize()); info.Size() < least { // bbolt has no error of its own for it
		return &DamageError{path: cfg.Path, cause: fmt.Errorf("%d bytes, expected at least %d", info.Size(), least)}
	}
	db, err := bolt.Open(cfg.Path, 0o600, &bolt.Options{Timeout: cfg.OpenTimeout, ReadOnly: true}) // waits for who writes
	for _, damage := range []error{berrors.ErrInvalid, berrors.ErrVersionMismatch, berrors.ErrChecksum} {
		if errors.Is(err, damage) {
			return &DamageError{path: cfg.Path, cause: err}
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
		_, err := unseal(key, value)
		return err
	})
	if err != nil {
		return &DamageError{path: cfg.Path, cause: err}
	}
	return nil
}

// fail makes an error the store's last: nothing is written any more.
func (s *Store) fail(fatal *FatalError) {
	if s.fatal.CompareAndSwap(nil, fatal) {
		s.failed <- fatal
	}
}

// damaged says whether the file was found damaged. bbolt may then hold its locks for ever.
func (s *Store) damaged() bool {
	fatal := s.fatal.Load()
	return fatal != nil && errors.As(fatal, new(*DamageError))
}

// unseal is unseal with the file in its error.
func (s *Store) unseal(key, sealed []byte) ([]byte, error) {
	value, err := unseal(key, sealed)
	if err != nil {
		return nil, &DamageError{path: s.path, cause: err}
	}
	return value, nil
}

// get returns the value of a key, nil if there is none.
func (s *Store) get(b *bolt.Bucket, key []byte) ([]byte, error) {
	sealed := b.Get(key)
	if sealed == nil {
		return nil, nil
	}
	return s.unseal(key, sealed)
}
