package statistics

import (
	"math"
	"slices"
)

// replicates is the number of resamples of a bootstrap.
const replicates = 2000

// Resample returns the interval of a statistic by resampling whole clusters. The statistic gets how
// often each cluster was drawn and must not keep the slice; resamples in which it is NaN do not
// count. ok is false below two clusters, and if it is NaN in more than half of the resamples.
func Resample(clusters int, statistic func(drawn []float64) float64) (i Interval, ok bool) {
	if clusters < 2 {
		return Interval{}, false
	}
	random := draws()
	var values []float64
	drawn := make([]float64, clusters)
	for range replicates {
		clear(drawn)
		for range clusters {
			drawn[random.IntN(clusters)]++
		}
		if value := statistic(drawn); !math.IsNaN(value) {
			values = append(values, value)
		}
	}
	if 2*len(values) < replicates {
		return Interval{}, false
	}
	slices.Sort(values)
	return Interval{percentile(values, (1-Confidence)/2), percentile(values, (1+Confidence)/2)}, true
}

// Bootstrap returns the interval of the mean of observations by resampling whole clusters. ok is
// false below two clusters.
func Bootstrap(observations []Observation) (i Interval, ok bool) {
	sums := sumsByCluster(observations, 0)
	counts := sumsByCluster(slices.Collect(ones(observations)), 0)
	return Resample(len(sums), func(drawn []float64) float64 { return Weighted(drawn, sums) / Weighted(drawn, counts) })
}

// Weighted returns the sum of values by their weights.
func Weighted(weights, values []float64) float64 {
	sum := 0.0
	for i, weight := range weights {
		sum += weight * values[i]
	}
	return sum
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
