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
//
// A paused sweep gets no slot, and no job of it waits here.
type scheduler struct {
	play       func(*bus.Delivery) // starts a rollout and returns; done reports its end
	maxWaiting int                 // jobs that may wait here for a slot

	mu       sync.Mutex
	free     int
	grants   uint64                  // number of slots granted so far
	controls map[string]sweepControl // by sweep
	sweeps   map[string]*sweepQueue
}

// sweepControl is what the worker has received of a sweep.
type sweepControl struct {
	limit  int // 0 for none
	paused bool
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
	stopFetch     func()        // ends the fetcher's request for jobs
}

// newScheduler returns a scheduler with n free slots. Set play before offering jobs.
func newScheduler(n, ahead int) *scheduler {
	return &scheduler{maxWaiting: ahead, free: n, controls: make(map[string]sweepControl), sweeps: make(map[string]*sweepQueue)}
}

// queueOf returns a sweep's queue. The caller holds mu.
func (s *scheduler) queueOf(sweepID string) *sweepQueue {
	if s.sweeps[sweepID] == nil {
		s.sweeps[sweepID] = &sweepQueue{wake: make(chan struct{}, 1), stopFetch: func() {}}
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
	if control, ok := s.controls[sweepID]; ok {
		return control.limit
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
		ahead := max(s.maxWaiting/max(s.fetching(), 1), 1)
		if limit := s.limit(sweepID, q); limit > 0 {
			ahead = min(ahead, limit)
		}
		if n, announcements = ahead-len(q.waiting), q.announcements; s.controls[sweepID].paused {
			n = 0
		}
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

// fetching returns the number of sweeps whose jobs are fetched. The caller holds mu.
func (s *scheduler) fetching() (n int) {
	for sweepID, q := range s.sweeps {
		if q.fetched && !s.controls[sweepID].paused {
			n++
		}
	}
	return n
}

// fetchContext returns the context of a request for jobs of a sweep. It ends when the sweep is
// paused.
func (s *scheduler) fetchContext(ctx context.Context, sweepID string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queueOf(sweepID).stopFetch = cancel
	if s.controls[sweepID].paused {
		cancel()
	}
	return ctx, cancel
}

// offer queues jobs of a sweep. It returns those of a paused one.
func (s *scheduler) offer(sweepID string, deliveries []*bus.Delivery) (refused []*bus.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.controls[sweepID].paused {
		return deliveries
	}
	for _, delivery := range deliveries {
		q := s.queueOf(sweepID)
		q.queuedLimit = delivery.Parallel
		q.waiting = append(q.waiting, delivery)
	}
	s.admit()
	return nil
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

// control sets what holds for a sweep. It returns the jobs of a paused one that wait for a slot.
func (s *scheduler) control(sweepID string, now sweepControl) (withdrawn []*bus.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.controls[sweepID] = now
	q := s.sweeps[sweepID]
	switch {
	case q == nil:
	case now.paused:
		q.stopFetch()
		withdrawn, q.waiting = q.waiting, nil
	default:
		q.notify()
		s.admit()
	}
	return withdrawn
}

// forget drops what holds for a sweep.
func (s *scheduler) forget(sweepID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.controls, sweepID)
}

// pauseUnlessKnown pauses a sweep of which the worker has received nothing.
func (s *scheduler) pauseUnlessKnown(sweepID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.controls[sweepID]; !known {
		s.controls[sweepID] = sweepControl{paused: true}
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
