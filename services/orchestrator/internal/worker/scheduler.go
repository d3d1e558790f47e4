package worker

import (
	"context"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

// scheduler says which rollout this worker plays next. A free slot goes to the sweep that plays the
// fewest rollouts here, of those that have a job and may play another one; of several to the one
// that got its last slot first. So sweeps get equal parts of the worker, as far as they can use
// them, however many rollouts each has.
//
// The number of rollouts at once that counts for a sweep is the last one that the worker has been
// told, as bus.Configure orders them. Jobs carry a number too: the one of the time when they were
// queued. They stay in the queue as they are while their sweep goes on with another one, and say
// nothing about which is the newer. So a job's number counts only as long as the worker has been
// told none. A lower number stops no rollout: fewer begin.
type scheduler struct {
	play  func(*bus.Delivery) // begins a rollout and returns; done says that it is over
	ahead int                 // jobs that wait here for a slot

	mu     sync.Mutex
	free   int
	given  uint64         // slots, ever
	served int            // sweeps
	told   map[string]int // limits, by sweep
	sweeps map[string]*sweepQueue
}

// sweepQueue is what one sweep has of the worker.
type sweepQueue struct {
	queued  int // the limit that its last job carries
	playing int
	last    uint64 // the slot that it got last
	waiting []*bus.Delivery

	served bool          // somebody fetches its jobs
	heard  int           // how often somebody was to
	wake   chan struct{} // there may be room for more jobs
}

// newScheduler returns n free slots. Before jobs are offered, play is to be set.
func newScheduler(n, ahead int) *scheduler {
	return &scheduler{ahead: ahead, free: n, told: make(map[string]int), sweeps: make(map[string]*sweepQueue)}
}

// of returns a sweep's queue. The caller holds mu.
func (s *scheduler) of(sweepID string) *sweepQueue {
	if s.sweeps[sweepID] == nil {
		s.sweeps[sweepID] = &sweepQueue{wake: make(chan struct{}, 1)}
	}
	return s.sweeps[sweepID]
}

// limit returns how many rollouts of a sweep may be played at once, 0 if there is no limit. The
// caller holds mu.
func (s *scheduler) limit(sweepID string, q *sweepQueue) int {
	if limit, told := s.told[sweepID]; told {
		return limit
	}
	return q.queued
}

// attach reports whether the caller is to fetch the jobs of a sweep, because nobody does. It does
// so until detach lets it go.
func (s *scheduler) attach(sweepID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.of(sweepID)
	q.heard++
	if q.served {
		return false
	}
	q.served = true
	s.served++
	return true
}

// detach reports whether the caller, who found no job of the sweep since capacity returned heard,
// may stop fetching.
func (s *scheduler) detach(sweepID string, heard int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.of(sweepID)
	if q.heard != heard {
		return false // jobs were queued since
	}
	q.served = false
	s.served--
	s.gc(sweepID)
	for _, other := range s.sweeps {
		other.notify()
	}
	return true
}

// capacity waits until more jobs of a sweep may be fetched and returns how many, and what detach is
// to be told; ok is false if ctx ends first.
func (s *scheduler) capacity(ctx context.Context, sweepID string) (n, heard int, ok bool) {
	for ctx.Err() == nil {
		s.mu.Lock()
		q := s.of(sweepID)
		ahead := max(s.ahead/max(s.served, 1), 1)
		if limit := s.limit(sweepID, q); limit > 0 {
			ahead = min(ahead, limit)
		}
		n, heard = ahead-len(q.waiting), q.heard
		s.mu.Unlock()
		if n > 0 {
			return n, heard, true
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
	return 0, 0, false
}

// offer lines jobs up.
func (s *scheduler) offer(deliveries []*bus.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, delivery := range deliveries {
		q := s.of(delivery.Rollout.GetSweepId())
		q.queued = delivery.Parallel
		q.waiting = append(q.waiting, delivery)
	}
	s.admit()
}

// done gives the slot of a rollout of a sweep back.
func (s *scheduler) done(sweepID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.of(sweepID).playing--
	s.admit()
	s.gc(sweepID)
}

// tell sets the limit of a sweep.
func (s *scheduler) tell(sweepID string, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told[sweepID] = limit
	if q := s.sweeps[sweepID]; q != nil {
		q.notify()
		s.admit()
	}
}

// admit gives free slots to jobs. The caller holds mu.
func (s *scheduler) admit() {
	for s.free > 0 {
		var next *sweepQueue
		for sweepID, q := range s.sweeps {
			limit := s.limit(sweepID, q)
			if len(q.waiting) == 0 || limit > 0 && q.playing >= limit {
				continue
			}
			if next == nil || q.playing < next.playing || q.playing == next.playing && q.last < next.last {
				next = q
			}
		}
		if next == nil {
			return
		}
		delivery := next.waiting[0]
		next.waiting[0] = nil
		next.waiting = next.waiting[1:]
		s.free--
		s.given++
		next.playing++
		next.last = s.given
		next.notify()
		s.play(delivery)
	}
}

// gc forgets a sweep that has nothing here. The caller holds mu.
func (s *scheduler) gc(sweepID string) {
	if q := s.sweeps[sweepID]; !q.served && q.playing == 0 && len(q.waiting) == 0 {
		delete(s.sweeps, sweepID)
	}
}

// notify wakes who fetches the sweep's jobs.
func (q *sweepQueue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
