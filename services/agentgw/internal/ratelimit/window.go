package ratelimit

import "slices"

const (
	// span is how many seconds what was taken counts: a minute, the second for which it may be kept
	// before it is used, and what rounding to whole seconds can add.
	span = 62
	// burstSpan is the seconds within which a part of a minute's budget may be taken, so that a
	// minute's does not come at once: a little more than their part, to make up for a pause.
	burstSpan  = 2
	burstShare = 25
)

// taken is what was taken in one second.
type taken struct {
	Second int64 `json:"s"`
	N      int64 `json:"n"`
}

// window is what was taken lately, oldest first. Its seconds only grow.
type window []taken

// since sums what was taken from a second on.
func (w window) since(second int64) int64 {
	var sum int64
	for _, t := range w {
		if t.Second >= second {
			sum += t.N
		}
	}
	return sum
}

// add takes n in a second that is the last or later.
func (w window) add(second, n int64) window {
	if last := len(w) - 1; last >= 0 && w[last].Second >= second {
		w[last].N += n
		return w
	}
	return append(w, taken{Second: second, N: n})
}

// refund gives back what was taken in a second; what counts no longer is ignored.
func (w window) refund(second, n int64) {
	for i := range w {
		if w[i].Second == second {
			w[i].N -= n
		}
	}
}

// prune forgets what counts no longer.
func (w window) prune(now int64) window {
	return slices.DeleteFunc(w, func(t taken) bool { return t.Second <= now-span })
}

// free returns how much of a minute's limit can be taken in a second. A need that is larger than
// what is left of a burst fits too.
func (w window) free(now, limit, need int64) int64 {
	burst := burstOf(limit) - w.since(now-burstSpan+1)
	if burst > 0 {
		burst = max(burst, need)
	}
	return max(min(limit-w.since(now-span+1), burst), 0)
}

// burstOf returns what may be taken of a minute's limit within burstSpan.
func burstOf(limit int64) int64 { return (limit + burstShare - 1) / burstShare }

// when returns the first second after now in which need can be taken.
func (w window) when(now, limit, need int64) int64 {
	for second := now + 1; second < now+span; second++ {
		if w.free(second, limit, need) >= need {
			return second
		}
	}
	return now + span
}
