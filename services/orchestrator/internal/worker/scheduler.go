package worker

import (
	"context"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

// scheduler decides which rollout this worker plays next. A free slot goes to the sweep with the
// fewest running rollouts here, among those with a job and below their limit; ties go to the least
// recently served. So sweeps share the worker equally, as far as they can use it, however many
// rollouts each has.
//
// The limit of a sweep is the last one that the worker has received, in the order of bus.Configure.
// Jobs also carry the limit at the time they were queued, which may be older. So a job's limit
// counts only until the worker has received one. A lower limit stops no running rollout.
type scheduler struct {
	play       func(*bus.Delivery) // starts a rollout and returns; done reports its end
	maxWaiting int                 // jobs that may wait here for a slot

	mu       sync.Mutex
	free     int
	grants   uint64         // number of slots granted so far
	fetching int            // number of sweeps with a fetcher
	limits   map[string]int // limits, by sweep
	sweeps   map[string]*sweepQueue
}

// sweepQueue is the state of one sweep in this worker.
type sweepQueue struct {
	queuedLimit int // the limit in its last job
	playing     int
	lastGrant   uint64 // grants at its last slot
	waiting     []*bus.Delivery

	fetched       bool          // a goroutine fetches its jobs
	announcements int           // how often jobs were announced
	wake          chan struct{} // signals room for more jobs
}

// newScheduler returns a scheduler with n free slots. Set play before offering jobs.
func newScheduler(n, ahead int) *scheduler {
	return &scheduler{maxWaiting: ahead, free: n, limits: make(map[string]int), sweeps: make(map[string]*sweepQueue)}
}

// queueOf returns a sweep's queue. The caller holds mu.
func (s *scheduler) queueOf(sweepID string) *sweepQueue {
	if s.sweeps[sweepID] == nil {
		s.sweeps[sweepID] = &sweepQueue{wake: make(chan struct{}, 1)}
	}
	return s.sweeps[sweepID]
}

// counts returns the number of rollouts of a sweep, or of all if sweepID is empty, that run here,
// and of those that wait here for a slot.
func (s *scheduler) counts(sweepID string) (running, ahead int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, q := range s.sweeps {
		if sweepID == "" || sweepID == id {
			running, ahead = running+q.playing, ahead+len(q.waiting)
		}
	}
	return running, ahead
}

// limit returns the largest number of concurrent rollouts of a sweep, 0 for no limit. The caller
// holds mu.
func (s *scheduler) limit(sweepID string, q *sweepQueue) int {
	if limit, ok := s.limits[sweepID]; ok {
		return limit
	}
	return q.queuedLimit
}

// attach reports whether the caller shall fetch the jobs of a sweep, because no other goroutine
// does. It does so until detach returns true.
func (s *scheduler) attach(sweepID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queueOf(sweepID)
	q.announcements++
	if q.fetched {
		return false
	}
	q.fetched = true
	s.fetching++
	return true
}

// detach reports whether the caller may stop fetching, after it found no job since capacity
// returned announcements.
func (s *scheduler) detach(sweepID string, announcements int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queueOf(sweepID)
	if q.announcements != announcements {
		return false // jobs were announced since
	}
	q.fetched = false
	s.fetching--
	s.gc(sweepID)
	for _, other := range s.sweeps {
		other.notify()
	}
	return true
}

// capacity waits until more jobs of a sweep may be fetched. It returns their number, and the
// argument for detach. ok is false if ctx ends first.
func (s *scheduler) capacity(ctx context.Context, sweepID string) (n, announcements int, ok bool) {
	for ctx.Err() == nil {
		s.mu.Lock()
		q := s.queueOf(sweepID)
		ahead := max(s.maxWaiting/max(s.fetching, 1), 1)
		if limit := s.limit(sweepID, q); limit > 0 {
			ahead = min(ahead, limit)
		}
		n, announcements = ahead-len(q.waiting), q.announcements
		s.mu.Unlock()
		if n > 0 {
			return n, announcements, true
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
	return 0, 0, false
}

// offer queues jobs.
func (s *scheduler) offer(deliveries []*bus.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, delivery := range deliveries {
		q := s.queueOf(delivery.Rollout.GetSweepId())
		q.queuedLimit = delivery.Parallel
		q.waiting = append(q.waiting, delivery)
	}
	s.admit()
}

// withdraw removes and returns the jobs that wait for a slot.
func (s *scheduler) withdraw() []*bus.Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*bus.Delivery
	for _, q := range s.sweeps {
		all, q.waiting = append(all, q.waiting...), nil
	}
	return all
}

// done releases the slot of a sweep's rollout.
func (s *scheduler) done(sweepID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.queueOf(sweepID).playing--
	s.admit()
	s.gc(sweepID)
}

// setLimit sets the limit of a sweep.
func (s *scheduler) setLimit(sweepID string, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits[sweepID] = limit
	if q := s.sweeps[sweepID]; q != nil {
		q.notify()
		s.admit()
	}
}

// admit assigns free slots to jobs. The caller holds mu.
func (s *scheduler) admit() {
	for s.free > 0 {
		var next *sweepQueue
		for sweepID, q := range s.sweeps {
			limit := s.limit(sweepID, q)
			if len(q.waiting) == 0 || limit > 0 && q.playing >= limit {
				continue
			}
			if next == nil || q.playing < next.playing || q.playing == next.playing && q.lastGrant < next.lastGrant {
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
		s.grants++
		next.playing++
		next.lastGrant = s.grants
		next.notify()
		s.play(delivery)
	}
}

// gc removes the queue of a sweep without jobs and fetcher. The caller holds mu.
func (s *scheduler) gc(sweepID string) {
	if q := s.sweeps[sweepID]; !q.fetched && q.playing == 0 && len(q.waiting) == 0 {
		delete(s.sweeps, sweepID)
	}
}

// notify wakes the fetcher of the sweep's jobs.
func (q *sweepQueue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
