package ratelimit

import (
	"container/list"
	"maps"
)

// waiter is a request that waits for its budget.
type waiter struct {
	budget  *budget
	spend   *sweepSpend // nil without a limit
	average *usageAverage
	sweep   string
	party   party
	cost    spending
	tokens  int64         // expected, no more than the budget can ever give
	held    Spend         // what it is expected to cost, since it began
	tried   func(error)   // tells the breaker how it ended
	ready   chan struct{} // closed when permit or err is set
	permit  *Permit
	err     error
	at      *list.Element // nil if it does not wait
}

// queue holds waiters by sweep: first come, first served within a sweep, and between sweeps the one
// whose requests have cost least so far. A sweep that was idle does not save up for it.
type queue struct {
	sweeps map[string]*sweepQueue
	now    float64 // cost up to which every sweep that waits has been served
	n      int
}

type sweepQueue struct {
	served  float64
	waiters list.List
}

func (q *queue) push(w *waiter) {
	if q.sweeps == nil {
		q.sweeps = make(map[string]*sweepQueue)
	}
	l := q.sweeps[w.sweep]
	if l == nil {
		maps.DeleteFunc(q.sweeps, func(_ string, l *sweepQueue) bool { return l.waiters.Len() == 0 && l.served <= q.now })
		l = &sweepQueue{}
		q.sweeps[w.sweep] = l
	}
	if l.waiters.Len() == 0 {
		l.served = max(l.served, q.now)
	}
	w.at = l.waiters.PushBack(w)
	q.n++
}

// next returns the waiter whose turn it is among the sweeps that may go on, nil if there is none.
func (q *queue) next(may func(w *waiter) bool) *waiter {
	var chosen *waiter
	var least float64
	for name, l := range q.sweeps {
		front := l.waiters.Front()
		if front == nil {
			continue
		}
		w, _ := front.Value.(*waiter)
		if chosen != nil && (l.served > least || l.served == least && name > chosen.sweep) || !may(w) {
			continue
		}
		chosen, least = w, l.served
	}
	return chosen
}

// serve takes out a waiter that next returned and books what its request costs.
func (q *queue) serve(w *waiter, cost float64) {
	l := q.sweeps[w.sweep]
	q.now = max(q.now, l.served)
	l.served += cost
	q.remove(w)
}

// remove takes out a waiter, which may be out already.
func (q *queue) remove(w *waiter) {
	if w.at == nil {
		return
	}
	q.sweeps[w.sweep].waiters.Remove(w.at)
	w.at = nil
	q.n--
}

// drain takes out all waiters that are chosen and returns them.
func (q *queue) drain(chosen func(w *waiter) bool) []*waiter {
	var all []*waiter
	for _, l := range q.sweeps {
		for e := l.waiters.Front(); e != nil; {
			w, _ := e.Value.(*waiter)
			e = e.Next()
			if chosen(w) {
				q.remove(w)
				all = append(all, w)
			}
		}
	}
	return all
}

// surplus returns the last waiter of the sweep that has most of them, nil if the given one would
// have as many.
func (q *queue) surplus(sweep string) *waiter {
	longest, own := 0, 0
	var last *waiter
	for name, l := range q.sweeps {
		n := l.waiters.Len()
		if name == sweep {
			own = n
		}
		if w, ok := backOf(l); ok && (n > longest || n == longest && name < last.sweep) {
			longest, last = n, w
		}
	}
	if longest <= own+1 {
		return nil
	}
	return last
}

func backOf(l *sweepQueue) (*waiter, bool) {
	back := l.waiters.Back()
	if back == nil {
		return nil, false
	}
	w, ok := back.Value.(*waiter)
	return w, ok
}
