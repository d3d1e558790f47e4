package ratelimit

import "time"

// minRate is the smallest share of the rates after refusals. A run of successes adds rateStep to
// the share and multiplies the concurrency by growth.
const minRate, rateStep, growth = 1.0 / 16, 0.05, 1.1

// adaptiveLimits holds the limits that remain after refusals, by additive increase and
// multiplicative decrease.
type adaptiveLimits struct {
	concurrency float64 // concurrent requests
	threshold   float64 // below it concurrency doubles, so that it recovers quickly from an outage
	rate        float64 // share of the limits per minute
	successes   int     // since the last change
	cuts        int     // consecutive, without a success

	timeout time.Duration // of the last request that timed out, 0 before
	longest time.Duration // duration of the longest request since the last change
}

// cut halves the limits, beginning at the amount in use.
func (a *adaptiveLimits) cut(running int) {
	a.concurrency = max(min(a.concurrency, float64(running))/2, 1)
	if a.cuts == 0 {
		a.threshold = a.concurrency
	}
	a.rate = max(a.rate/2, minRate)
	a.successes = 0
	a.cuts++
}

// timeOut bounds the concurrency after a request that nobody answered within timeout. running is
// the concurrency in use.
func (a *adaptiveLimits) timeOut(timeout time.Duration, running, most int) {
	a.concurrency = max(min(a.concurrency, float64(running), float64(most)), 1)
	a.threshold = a.concurrency
	a.successes = 0
	a.timeout, a.longest = timeout, 0
}

// succeed raises the limits after each run of successes as long as the concurrency. limit bounds
// the concurrency. After time-outs the concurrency stays while requests take half of what they may,
// because more of them at once would take longer.
func (a *adaptiveLimits) succeed(limit int64, took time.Duration) {
	a.cuts = 0
	a.longest = max(a.longest, took)
	if a.successes++; float64(a.successes) < a.concurrency {
		return
	}
	isSlow := a.timeout > 0 && a.longest > a.timeout/2
	a.successes, a.longest = 0, 0
	if isSlow {
		return
	}
	a.concurrency = min(max(a.concurrency*growth+1, min(a.concurrency*2, a.threshold)), float64(limit))
	a.rate = min(a.rate+rateStep, 1)
}
