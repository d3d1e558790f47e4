package worker

import (
	"context"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

// limits bounds how many rollouts of each sweep this worker plays at once. Who waits gets on first come, first served.
//
// The number that counts is the last one that the worker has been told of the sweep, as bus.SetParallel orders them. Jobs carry a number too: the one
// of the time when they were queued. They stay in the queue as they are while their sweep goes on with another one, and say nothing about which is
// the newer. So a job's number counts only as long as the worker has been told none. A lower number stops no rollout: fewer begin.
type limits struct {
	mu     sync.Mutex
	sweeps map[string]*share
}

// share is what one sweep has of the worker.
type share struct {
	told    bool // somebody has said the limit
	limit   int  // 0 is none
	playing int
	waiting []chan struct{} // closed when it may play, in the order in which they came
}

// of returns a sweep's share. The caller holds mu.
func (l *limits) of(sweepID string) *share {
	if l.sweeps == nil {
		l.sweeps = make(map[string]*share)
	}
	if l.sweeps[sweepID] == nil {
		l.sweeps[sweepID] = &share{}
	}
	return l.sweeps[sweepID]
}

// acquire waits until a rollout may be played; false if ctx ends first, which only the worker's end may do: the place in the line is not given up.
// surrender lets the next one on.
func (l *limits) acquire(ctx context.Context, delivery *bus.Delivery) bool {
	select {
	case <-l.join(delivery.Rollout.GetSweepId(), delivery.Parallel):
		return true
	case <-ctx.Done():
		return false
	}
}

// join lines a rollout up that was queued with a number; the channel is closed when it may be played.
func (l *limits) join(sweepID string, queued int) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.of(sweepID)
	if !s.told {
		s.limit = queued
	}
	turn := make(chan struct{})
	s.waiting = append(s.waiting, turn)
	s.admit()
	return turn
}

func (l *limits) surrender(sweepID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.of(sweepID)
	s.playing--
	s.admit()
	if s.playing == 0 && !s.told {
		delete(l.sweeps, sweepID)
	}
}

// tell sets the limit of a sweep.
func (l *limits) tell(sweepID string, limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.of(sweepID)
	s.told, s.limit = true, limit
	s.admit()
}

// admit lets those on for whom there is room.
func (s *share) admit() {
	for len(s.waiting) > 0 && (s.limit == 0 || s.playing < s.limit) {
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
		s.playing++
	}
}
