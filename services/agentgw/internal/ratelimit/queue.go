package ratelimit

import (
	"maps"
	"slices"
)

// queue holds requests by sweep: first come, first served within a sweep, and between sweeps the
// one whose requests have taken least so far. A sweep that was idle does not save up for it.
type queue struct {
	sweeps map[string]*sweepQueue
	now    float64 // what every sweep that waits has taken at least
	n      int
}

type sweepQueue struct {
	taken   float64
	waiting []*Permit
}

// push adds a request, unless as many of its sweep wait as may.
func (q *queue) push(p *Permit, most int) bool {
	s := q.sweeps[p.request.Run.Sweep]
	if s == nil {
		maps.DeleteFunc(q.sweeps, func(_ string, s *sweepQueue) bool { return len(s.waiting) == 0 && s.taken <= q.now })
		s = &sweepQueue{}
		q.sweeps[p.request.Run.Sweep] = s
	}
	if len(s.waiting) == 0 {
		s.taken = max(s.taken, q.now)
	}
	if len(s.waiting) >= most {
		return false
	}
	s.waiting = append(s.waiting, p)
	q.n++
	return true
}

// next returns the request whose turn it is among those that may begin, nil if there is none. may
// can remove requests of the sweep that it is asked about.
func (q *queue) next(may func(p *Permit) bool) *Permit {
	var next *Permit
	var least float64
	for name, s := range q.sweeps {
		if len(s.waiting) == 0 || next != nil && (s.taken > least || s.taken == least && name > next.request.Run.Sweep) {
			continue
		}
		if first := s.waiting[0]; may(first) {
			next, least = first, s.taken
		}
	}
	return next
}

// serve takes out a request that next returned, and books the share of the budget that it takes.
func (q *queue) serve(p *Permit, share float64) {
	s := q.sweeps[p.request.Run.Sweep]
	q.now = max(q.now, s.taken)
	s.taken += share
	s.waiting[0], s.waiting = nil, s.waiting[1:]
	q.n--
}

// remove takes out a request, and says whether it was in.
func (q *queue) remove(p *Permit) bool {
	s := q.sweeps[p.request.Run.Sweep]
	at := slices.Index(s.waiting, p)
	if at < 0 {
		return false
	}
	s.waiting = slices.Delete(s.waiting, at, at+1)
	q.n--
	return true
}

// fail ends the wait of the requests of which why returns an error.
func (q *queue) fail(why func(p *Permit) error) {
	for _, s := range q.sweeps {
		s.waiting = slices.DeleteFunc(s.waiting, func(p *Permit) bool {
			if p.err = why(p); p.err != nil {
				q.n--
				close(p.ready)
			}
			return p.err != nil
		})
	}
}
