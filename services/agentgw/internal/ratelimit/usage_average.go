package ratelimit

import "math"

const (
	// blind is how many requests of one model may run at once, if their sweep has a limit, until as
	// many have shown what they use.
	blind = 8
	// horizon is over how many requests, about, the averages go.
	horizon = 256
	// trust is by how much less than estimated a request may be expected to use: a model that says
	// little at first may say more later, and what is expected bounds what begins.
	trust = 4
)

// usageAverage is what the requests to one model use. Estimates know nothing of how long
// a model reasons: thousands of requests that begin by them could exceed a limit by many times.
type usageAverage struct {
	running, ended int
	// said are the requests whose provider said what they used; the averages are theirs.
	said                     int
	estimated, input, output float64
}

// begins says whether one more request may run: not while too many do and nothing is known.
func (h *usageAverage) begins() bool { return h.ended >= blind || h.running < blind }

// expect corrects an estimate.
func (h *usageAverage) expect(s spending) Spend {
	if h.said == 0 {
		return s.Spend
	}
	input := float64(s.input)
	if h.estimated > 0 {
		input *= h.input / h.estimated
	}
	input, output := max(input, float64(s.input)/trust), max(h.output, float64(s.output)/trust)
	return s.cost(within(int64(math.Ceil(min(input, mostTokens)))), 0, within(int64(math.Ceil(output))))
}

// end takes in how a request ended.
func (h *usageAverage) end(s spending, o Outcome) {
	h.running--
	if o.Class == Succeeded || o.Class == Abandoned {
		h.ended++
	}
	if o.Usage == nil {
		return
	}
	h.said++
	weight := 1 / float64(min(h.said, horizon))
	h.estimated += weight * (float64(s.input) - h.estimated)
	h.input += weight * (float64(within(o.Usage.GetInputTokens())) - h.input)
	h.output += weight * (float64(within(o.Usage.GetOutputTokens())) - h.output)
}
