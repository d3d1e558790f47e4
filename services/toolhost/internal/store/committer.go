package store

import (
	"context"
	"runtime"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	// commitYields is how often the committer yields before it takes the queued writes. On an idle
	// machine that takes no time. On a busy one many writes share a transaction, at less latency than
	// any fixed wait.
	commitYields = 3
	// gatherWait is how long the committer waits for others while all writes are patient.
	gatherWait = 5 * time.Millisecond
)

// request is one queued write.
type request struct {
	// apply makes the changes of the write. rejected is an error of this write alone, which then
	// changed nothing. err aborts the transaction.
	apply    func(*writer) (rejected, err error)
	mayWait  bool       // it may wait for others
	rejected error      // what apply answered; the committer's alone
	done     chan error // receives once, after the commit or its failure
}

// submit queues a write and waits for its commit.
func (s *Store) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if fatal := s.fatal.Load(); fatal != nil {
		return fatal
	}
	r.done = make(chan error, 1)
	select {
	case <-s.stop:
		return ErrClosed
	default:
	}
	select {
	case s.queue <- r:
	case <-s.stop:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
	}
	select {
	case err := <-r.done: // the last batch
		return err
	default: // queued when the committer had taken the last batch
		return ErrClosed
	}
}

// run is the committer, the only writing goroutine. It ends after Close, when the queue is empty.
func (s *Store) run() {
	defer close(s.done)
	batch := make([]*request, 0, s.size)
	w := &writer{}
	for {
		batch = s.collect(batch)
		if len(batch) == 0 {
			return
		}
		s.flush(w, batch)
	}
}

// collect waits for a write, then for others that share its transaction, and returns them in order
// of arrival. It reuses the memory of last. It returns none when the store closes.
func (s *Store) collect(last []*request) []*request {
	alone := len(last) <= 1
	clear(last)
	batch := last[:0]
	select {
	case r := <-s.queue:
		batch = append(batch, r)
	case <-s.stop:
		return s.drain(batch)
	}
	if batch[0].mayWait {
		batch = s.gather(batch)
	} else if !alone || len(s.queue) > 0 {
		for range commitYields {
			runtime.Gosched()
		}
	}
	return s.drain(batch)
}

// gather fills batch while all writes are patient, for gatherWait.
func (s *Store) gather(batch []*request) []*request {
	timer := time.NewTimer(gatherWait)
	defer timer.Stop()
	for len(batch) < s.size {
		select {
		case r := <-s.queue:
			batch = append(batch, r)
			if !r.mayWait {
				return batch
			}
		case <-timer.C:
			return batch
		case <-s.stop:
			return batch
		}
	}
	return batch
}

// drain fills batch with queued writes.
func (s *Store) drain(batch []*request) []*request {
	for len(batch) < s.size {
		select {
		case r := <-s.queue:
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// flush commits a batch and notifies its writers. It commits nothing after a failed commit.
func (s *Store) flush(w *writer, batch []*request) {
	fatal := s.fatal.Load()
	if fatal == nil {
		w.store = s
		err := s.update(func(tx *bolt.Tx) error {
			w.bucket = tx.Bucket(bucketSession)
			for _, r := range batch {
				var err error
				if r.rejected, err = r.apply(w); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			fatal = &FatalError{path: s.path, cause: err}
			s.fail(fatal)
		}
	}
	for _, r := range batch {
		if fatal != nil {
			r.done <- fatal
		} else {
			r.done <- r.rejected
		}
	}
}
