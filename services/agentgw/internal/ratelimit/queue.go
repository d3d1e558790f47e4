package ratelimit

import (
	"maps"
	"slices"
)

// queue is a fair queue. Requests of one sweep are served in FIFO order. The next sweep is the one
// that has been served least. An idle sweep saves no credit.
type queue struct {
	sweeps      map[string]*sweepQueue
	virtualTime float64 // least share that a waiting sweep has been served
	n           int
}

type sweepQueue struct {
	served  float64
	waiting []*Permit
}

// push adds a request, unless its sweep already has limit waiting requests.
func (q *queue) push(p *Permit, limit int) bool {
	s := q.sweeps[p.request.Run.Sweep]
	if s == nil {
		maps.DeleteFunc(q.sweeps, func(_ string, s *sweepQueue) bool { return len(s.waiting) == 0 && s.served <= q.virtualTime })
		s = &sweepQueue{}
		q.sweeps[p.request.Run.Sweep] = s
	}
	if len(s.waiting) == 0 {
		s.served = max(s.served, q.virtualTime)
	}
	if len(s.waiting) >= limit {
		return false
	}
	s.waiting = append(s.waiting, p)
	q.n++
	return true
}

// next returns the next eligible request, nil if there is none. eligible may remove requests of the
// sweep that it is asked about.
func (q *queue) next(eligible func(p *Permit) bool) *Permit {
	var next *Permit
	var minShare float64
	for name, s := range q.sweeps {
		if len(s.waiting) == 0 || next != nil && (s.served > minShare || s.served == minShare && name > next.request.Run.Sweep) {
			continue
		}
		if first := s.waiting[0]; eligible(first) {
			next, minShare = first, s.served
		}
	}
	return next
}

// pop removes a request that next returned, and charges its sweep a share of the budget.
func (q *queue) pop(p *Permit, share float64) {
	s := q.sweeps[p.request.Run.Sweep]
	q.virtualTime = max(q.virtualTime, s.served)
	s.served += share
	s.waiting[0], s.waiting = nil, s.waiting[1:]
	q.n--
}

// remove removes a request and reports whether it was queued.
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

// fail fails the queued requests for which reason returns an error.
func (q *queue) fail(reason func(p *Permit) error) {
	for _, s := range q.sweeps {
		s.waiting = slices.DeleteFunc(s.waiting, func(p *Permit) bool {
			if p.err = reason(p); p.err != nil {
				q.n--
				close(p.ready)
			}
			return p.err != nil
		})
	}
}
