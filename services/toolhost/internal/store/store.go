// Package store stores the sessions of one tool host in a bbolt file: each session's meta,
// table versions and outcomes.
//
// All sessions share flat buckets, so 100,000 of them cost no more than their data. One transaction
// collects the writes of all callers, and is synced to disk before any of them returns.
//
// bbolt options: the list of free pages is a hash map and is not written at each commit
// (NoFreelistSync). Writing it would sort all free pages, which slows commits down after the
// deletion of many sessions. Instead Open finds the free pages by walking the tree. The list is
// derived data, so durability does not depend on it. Statistics are off. Syncing is always on.
package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Sentinel errors, wrapped with the session id.
var (
	// ErrNotFound means that the session, or its outcome, does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists means that the session exists.
	ErrExists = errors.New("already exists")
	// ErrClosed means that the store is closed.
	ErrClosed = errors.New("store is closed")
	// ErrFatal matches every *FatalError.
	ErrFatal = errors.New("store is damaged")
	// ErrID means that a session id is empty, too long or contains NUL.
	ErrID = errors.New("invalid session id")
)

// FatalError is a failed commit or a corrupt file, as *FatalError. The content of the file after
// that commit is unknown, so the process must exit, reopen the file and read again. No write of the
// commit was acknowledged.
type FatalError struct {
	path  string
	cause error
}

// Error names the file and the cause.
func (e *FatalError) Error() string {
	if damage, ok := errors.AsType[*CorruptError](e.cause); ok {
		return damage.Error()
	}
	return fmt.Sprintf("commit to %s failed: %v", e.path, e.cause)
}

// Unwrap returns the cause.
func (e *FatalError) Unwrap() error { return e.cause }

// Is matches ErrFatal.
func (e *FatalError) Is(target error) bool { return target == ErrFatal }

// Version is one version of a table of a session.
type Version struct {
	Table uint8
	Index int32  // message index at which the version begins to hold; may be negative
	Data  []byte // encoded table, opaque to the store
}

// Record is a session without its outcomes.
type Record struct {
	Meta      []byte    // opaque to the store
	Versions  []Version // the session's own versions, by table, then index
	LastIndex int32     // highest index given to Create or Commit
}

// Config configures a store.
type Config struct {
	Path string // the file; its directory must exist
	// BatchSize is the maximum number of writes in a transaction. 0 means 256.
	BatchSize int
	// OpenTimeout bounds the wait of Open for the file lock; bbolt polls every 50ms. 0 means 5s.
	OpenTimeout time.Duration
}

const (
	defaultBatchSize   = 256
	defaultOpenTimeout = 5 * time.Second
	formatVersion      = 2 // of keys and values
)

// Store is an open file of sessions. It is safe for concurrent use. The caller of Open closes it.
type Store struct {
	db   *bolt.DB
	path string
	size int // writes in a transaction

	queue chan *request
	stop  chan struct{} // closed by Close: take no more writes
	done  chan struct{} // closed by run: no more commits

	fatal  atomic.Pointer[FatalError]
	failed chan error

	closeOnce sync.Once
	closeErr  error
}

// Open opens the store at cfg.Path and creates a missing file. It reads the whole file, and fails
// with a *CorruptError if any content differs from what was stored. It also fails if the file
// cannot be created or written, is no session store, or another process locks it for longer than
// cfg.OpenTimeout. The store holds the lock until Close.
func Open(cfg Config) (*Store, error) { return open(cfg, os.OpenFile) }

// open is Open with the function that opens the file, for tests.
func open(cfg Config, openFile func(string, int, os.FileMode) (*os.File, error)) (*Store, error) {
	if cfg.BatchSize <= 0 {
		cfg.BatchSize = defaultBatchSize
	}
	if cfg.OpenTimeout <= 0 {
		cfg.OpenTimeout = defaultOpenTimeout
	}
	if err := checkFile(cfg); err != nil {
		return nil, openError(cfg, err)
	}
	db, err := bolt.Open(cfg.Path, 0o600, &bolt.Options{
		Timeout:        cfg.OpenTimeout,
		FreelistType:   bolt.FreelistMapType,
		NoFreelistSync: true,
		NoStatistics:   true,
		OpenFile:       openFile,
	})
	if err != nil {
		return nil, openError(cfg, err)
	}
	if err := errors.Join(prepare(db), syncDirectory(filepath.Dir(cfg.Path))); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", cfg.Path, err), db.Close())
	}
	s := &Store{
		db:     db,
		path:   cfg.Path,
		size:   cfg.BatchSize,
		queue:  make(chan *request, cfg.BatchSize),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
		failed: make(chan error, 1),
	}
	go s.run()
	return s, nil
}

// openError returns an error with the file and the process that holds it.
func openError(cfg Config, err error) error {
	switch {
	case errors.As(err, new(*CorruptError)):
		return err
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("open store %s: another process holds its lock (waited %v): %w", cfg.Path, cfg.OpenTimeout, err)
	}
	return fmt.Errorf("open store %s: %w", cfg.Path, err)
}

// Bucket names, and the key of the layout's version in bucketStore.
var (
	bucketStore   = []byte("store")
	bucketSession = []byte("session")
	keyFormat     = []byte("format")
)

// prepare creates the buckets of a new file and checks the layout of an existing one.
func prepare(db *bolt.DB) error {
	return db.Update(func(tx *bolt.Tx) error {
		if b := tx.Bucket(bucketStore); b != nil {
			if got := b.Get(keyFormat); len(got) != 1 || got[0] != formatVersion {
				return fmt.Errorf("layout %x, only %02x is known", got, formatVersion)
			}
			return nil
		}
		if k, _ := tx.Cursor().First(); k != nil {
			return fmt.Errorf("a bbolt file, but not of sessions: it has a bucket %q", k)
		}
		b, err := tx.CreateBucket(bucketStore)
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucket(bucketSession); err != nil {
			return err
		}
		return b.Put(keyFormat, []byte{formatVersion})
	})
}

// syncDirectory makes the directory entry of a new file durable; syncing the file alone may not.
func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Close commits queued writes, waits for running reads and closes the file, unless it is corrupt.
// Later calls of any method return ErrClosed; later calls of Close return the first result.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		close(s.stop)
		<-s.done
		if s.isCorrupt() {
			return
		}
		if err := s.db.Close(); err != nil {
			s.closeErr = fmt.Errorf("close store %s: %w", s.path, err)
		}
	})
	return s.closeErr
}

// Failed returns a channel that delivers the first *FatalError, once. It is never closed.
func (s *Store) Failed() <-chan error { return s.failed }

// Size returns the size in bytes of the used and the free pages, 0 if the store is closed. The file
// may be larger.
func (s *Store) Size() (bytes int64) {
	err := s.view(func(tx *bolt.Tx) error {
		bytes = tx.Size()
		return nil
	})
	if err != nil {
		return 0
	}
	return bytes
}
