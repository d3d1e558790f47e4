package statistics

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Trials counts the trials of one scenario.
type Trials struct {
	Cluster string
	// Count is the number of trials, Passed that of those that passed.
	Count, Passed int
}

// AnyOf returns pass@k: the probability that at least one of k of the trials passed. ok is false
// with fewer than k trials.
func (t Trials) AnyOf(k int) (p float64, ok bool) {
	if k < 1 || t.Count < k {
		return 0, false
	}
	return 1 - choices(t.Count-t.Passed, t.Count, k), true
}

// AllOf returns pass^k: the probability that k of the trials all passed. ok is false with fewer
// than k trials.
func (t Trials) AllOf(k int) (p float64, ok bool) {
	if k < 1 || t.Count < k {
		return 0, false
	}
	return choices(t.Passed, t.Count, k), true
}

// choices returns the share of those choices of k among n that are among m of them.
func choices(m, n, k int) float64 {
	share := 1.0
	for i := range k {
		share *= float64(max(m-i, 0)) / float64(n-i)
	}
	return share
}

// ExactRate returns the interval of the mean of observations that are 0 or 1 by Korn and Graubard:
// that of Clopper and Pearson for as many independent trials as have the same standard error. It is
// exact for any number of them and wide for few: 0 to 1 without observations.
func ExactRate(observations []Observation) Interval {
	m := MeanOf(observations)
	n := float64(max(m.Clusters, 1))
	if m.StandardError > 0 && m.Mean > 0 && m.Mean < 1 {
		n = min(m.Mean*(1-m.Mean)/(m.StandardError*m.StandardError), float64(m.Count))
	}
	passed, tail := m.Mean*n, (1-Confidence)/2
	i := Interval{0, 1}
	if passed > 0 {
		i.Low = mathext.InvRegIncBeta(passed, n-passed+1, tail)
	}
	if passed < n {
		i.High = mathext.InvRegIncBeta(passed+1, n-passed, 1-tail)
	}
	return Interval{math.Max(i.Low, 0), math.Min(i.High, 1)}
}
