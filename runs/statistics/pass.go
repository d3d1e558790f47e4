package statistics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// replicates is the number of resamples of a bootstrap.
const replicates = 2000

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

// Bootstrap returns the mean of observations and its interval by resampling whole clusters. ok is
// false below two clusters.
func Bootstrap(observations []Observation) (i Interval, ok bool) {
	sums := sumsByCluster(observations, 0)
	if len(sums) < 2 {
		return Interval{}, false
	}
	counts := sumsByCluster(slices.Collect(ones(observations)), 0)
	random := draws()
	means := make([]float64, replicates)
	for r := range means {
		sum, count := 0.0, 0.0
		for range sums {
			c := random.IntN(len(sums))
			sum, count = sum+sums[c], count+counts[c]
		}
		means[r] = sum / count
	}
	slices.Sort(means)
	return Interval{percentile(means, (1-Confidence)/2), percentile(means, (1+Confidence)/2)}, true
}

// ones yields 1 for each observation.
func ones(observations []Observation) func(func(Observation) bool) {
	return func(yield func(Observation) bool) {
		for _, o := range observations {
			if !yield(Observation{o.Cluster, 1}) {
				return
			}
		}
	}
}

// percentile interpolates between the two nearest of sorted numbers.
func percentile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

// ExactRate returns the interval of the mean of observations that are 0 or 1 by Korn and Graubard:
// that of Clopper and Pearson for as many independent trials as have the same standard error. It is
// exact for any number of them and wide for few. ok is false without observations.
func ExactRate(observations []Observation) (i Interval, ok bool) {
	m := MeanOf(observations)
	if m.Count == 0 {
		return Interval{}, false
	}
	n := float64(max(m.Clusters, 1))
	if m.StandardError > 0 && m.Mean > 0 && m.Mean < 1 {
		n = min(m.Mean*(1-m.Mean)/(m.StandardError*m.StandardError), float64(m.Count))
	}
	passed, tail := m.Mean*n, (1-Confidence)/2
	i = Interval{0, 1}
	if passed > 0 {
		i.Low = mathext.InvRegIncBeta(passed, n-passed+1, tail)
	}
	if passed < n {
		i.High = mathext.InvRegIncBeta(passed+1, n-passed, 1-tail)
	}
	return Interval{math.Max(i.Low, 0), math.Min(i.High, 1)}, true
}
