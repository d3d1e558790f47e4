package worker

import (
	"context"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

// slots says which rollout this worker plays next. A free slot goes to the sweep that plays the
// fewest rollouts here, of those that have a job and may play another one; of several to the one
// that got its last slot first. So sweeps get equal parts of the worker, as far as they can use
// them, however many rollouts each has.
//
// The number of rollouts at once that counts for a sweep is the last one that the worker has been
// told, as bus.SetParallel orders them. Jobs carry a number too: the one of the time when they were
// queued. They stay in the queue as they are while their sweep goes on with another one, and say
// nothing about which is the newer. So a job's number counts only as long as the worker has been
// told none. A lower number stops no rollout: fewer begin.
type slots struct {
	play  func(*bus.Delivery) // begins a rollout and returns; surrender says that it is over
	ahead int                 // jobs that wait here for a slot

	mu     sync.Mutex
	free   int
	given  uint64         // slots, ever
	served int            // sweeps
	told   map[string]int // limits, by sweep
	sweeps map[string]*share
}

// share is what one sweep has of the worker.
type share struct {
	queued  int // the limit that its last job carries
	playing int
	last    uint64 // the slot that it got last
	waiting []*bus.Delivery

	served bool          // somebody fetches its jobs
	heard  int           // how often somebody was to
	wake   chan struct{} // there may be room for more jobs
}

// newSlots returns n free slots. Before jobs are offered, play is to be set.
func newSlots(n, ahead int) *slots {
	return &slots{ahead: ahead, free: n, told: make(map[string]int), sweeps: make(map[string]*share)}
}

// of returns a sweep's share. The caller holds mu.
func (s *slots) of(sweepID string) *share {
	if s.sweeps[sweepID] == nil {
		s.sweeps[sweepID] = &share{wake: make(chan struct{}, 1)}
	}
	return s.sweeps[sweepID]
}

// limit returns how many rollouts of a sweep may be played at once, 0 if there is no limit. The
// caller holds mu.
func (s *slots) limit(sweepID string, sh *share) int {
	if limit, told := s.told[sweepID]; told {
		return limit
	}
	return sh.queued
}

// serve says whether the caller is to fetch the jobs of a sweep, because nobody does. It does so
// until leave lets it go.
func (s *slots) serve(sweepID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.of(sweepID)
	sh.heard++
	if sh.served {
		return false
	}
	sh.served = true
	s.served++
	return true
}

// leave says whether the caller, who found no job of the sweep since room returned heard, may stop
// fetching.
func (s *slots) leave(sweepID string, heard int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.of(sweepID)
	if sh.heard != heard {
		return false // jobs were queued since
	}
	sh.served = false
	s.served--
	s.tidy(sweepID)
	for _, other := range s.sweeps {
		other.rouse()
	}
	return true
}

// room waits until more jobs of a sweep may be fetched and returns how many, and what leave is to
// be told; ok is false if ctx ends first.
func (s *slots) room(ctx context.Context, sweepID string) (n, heard int, ok bool) {
	for ctx.Err() == nil {
		s.mu.Lock()
		sh := s.of(sweepID)
		ahead := max(s.ahead/max(s.served, 1), 1)
		if limit := s.limit(sweepID, sh); limit > 0 {
			ahead = min(ahead, limit)
		}
		n, heard = ahead-len(sh.waiting), sh.heard
		s.mu.Unlock()
		if n > 0 {
			return n, heard, true
		}
		select {
		case <-sh.wake:
		case <-ctx.Done():
		}
	}
	return 0, 0, false
}

// offer lines jobs up.
func (s *slots) offer(deliveries []*bus.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, delivery := range deliveries {
		sh := s.of(delivery.Rollout.GetSweepId())
		sh.queued = delivery.Parallel
		sh.waiting = append(sh.waiting, delivery)
	}
	s.admit()
}

// surrender gives the slot of a rollout of a sweep back.
func (s *slots) surrender(sweepID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.of(sweepID).playing--
	s.admit()
	s.tidy(sweepID)
}

// tell sets the limit of a sweep.
func (s *slots) tell(sweepID string, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told[sweepID] = limit
	if sh := s.sweeps[sweepID]; sh != nil {
		sh.rouse()
		s.admit()
	}
}

// admit gives free slots away. The caller holds mu.
func (s *slots) admit() {
	for s.free > 0 {
		var next *share
		for sweepID, sh := range s.sweeps {
			limit := s.limit(sweepID, sh)
			if len(sh.waiting) == 0 || limit > 0 && sh.playing >= limit {
				continue
			}
			if next == nil || sh.playing < next.playing || sh.playing == next.playing && sh.last < next.last {
				next = sh
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
		next.rouse()
		s.play(delivery)
	}
}

// tidy forgets a sweep that has nothing here. The caller holds mu.
func (s *slots) tidy(sweepID string) {
	if sh := s.sweeps[sweepID]; !sh.served && sh.playing == 0 && len(sh.waiting) == 0 {
		delete(s.sweeps, sweepID)
	}
}

// rouse lets whoever fetches look at the room again.
func (sh *share) rouse() {
	select {
	case sh.wake <- struct{}{}:
	default:
	}
}
