package ratelimit

import "math"

const (
	// minRate is the smallest share of the rates that refusals leave.
	minRate = 1.0 / 16
	// rateStep is what a run of successes gives back of it.
	rateStep = 0.05
	// stepShare is the share of the concurrency before the last cut that a run of successes gives
	// back.
	stepShare = 20
	// hurry is by how much that grows with each run, so that what an outage took comes back before
	// the night is over.
	hurry = 1.1
)

// learned is what refusals taught about a budget.
type learned struct {
	// concurrency is how many requests are allowed at once, rate which share of the limits per
	// minute.
	concurrency, rate float64
	// step is what a run of successes adds to the concurrency, run the successes since the last
	// change.
	step float64
	run  int
	// streak is the number of cuts without a success between them.
	streak int
}

// unlearned is what holds until the first refusal.
var unlearned = learned{concurrency: maxConcurrency, rate: 1}

// cut halves what is allowed, of what was in use. An outage, cuts without a success between them,
// says nothing about how much there is room for, and is recovered from in the steps of its first.
func (l *learned) cut(running int) {
	used := max(min(l.concurrency, float64(running)), 1)
	if l.streak == 0 {
		l.step = 1
	}
	l.step = max(l.step, used/stepShare)
	l.concurrency = max(used/2, 1)
	l.rate = max(l.rate/2, minRate)
	l.run = 0
	l.streak++
}

// succeed gives something back after each run of successes as long as the concurrency. most is what
// may be allowed at once.
func (l *learned) succeed(most int) {
	l.streak = 0
	if l.concurrency >= float64(most) && l.rate >= 1 {
		*l = unlearned // as if nothing had been: the limit may be a higher one tomorrow
		return
	}
	l.run++
	if l.run < int(math.Ceil(min(l.concurrency, float64(most)))) {
		return
	}
	l.run = 0
	l.concurrency = min(l.concurrency+max(l.step, 1), maxConcurrency)
	l.step = min(max(l.step, 1)*hurry, maxConcurrency)
	l.rate = min(l.rate+rateStep, 1)
}
