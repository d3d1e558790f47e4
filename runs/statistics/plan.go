package statistics

import "math"

// Spread is the variance of a paired difference: between clusters, and between the trials of one.
type Spread struct {
	Between, Within float64
}

// SpreadOf estimates the spread of observations by the method of moments. ok is false without two
// clusters, or without a cluster of two observations.
func SpreadOf(observations []Observation) (s Spread, ok bool) {
	groups := make(map[string][]float64)
	var order []string
	for _, o := range observations {
		if groups[o.Cluster] == nil {
			order = append(order, o.Cluster)
		}
		groups[o.Cluster] = append(groups[o.Cluster], o.Value)
	}
	n, g := float64(len(observations)), float64(len(order))
	if g < 2 || n <= g {
		return Spread{}, false
	}
	all := MeanOf(observations).Mean
	within, between, sizes := 0.0, 0.0, 0.0
	for _, cluster := range order {
		values := groups[cluster]
		size, mean := float64(len(values)), 0.0
		for _, v := range values {
			mean += v / size
		}
		for _, v := range values {
			within += (v - mean) * (v - mean)
		}
		between += size * (mean - all) * (mean - all)
		sizes += size * size
	}
	within /= n - g
	typical := (n - sizes/n) / (g - 1)
	return Spread{Between: variance((between/(g-1) - within) / typical), Within: variance(within)}, true
}

// variance returns an estimate of a variance, 0 for a negative one and for one of rounding.
func variance(estimate float64) float64 {
	if estimate < slack*slack {
		return 0
	}
	return estimate
}

// Share returns the part of the variance that lies between clusters, 0 without any variance.
func (s Spread) Share() float64 {
	if s.Between+s.Within == 0 {
		return 0
	}
	return s.Between / (s.Between + s.Within)
}

// mostClusters bounds ClustersFor.
const mostClusters = 1 << 20

// ClustersFor returns the smallest number of clusters with which a mean difference is detected with
// a power, if each has a number of trials. ok is false if more than a million were needed.
func (s Spread) ClustersFor(difference, power float64, trials int) (clusters int, ok bool) {
	variance := s.Between + s.Within/float64(trials)
	detects := func(clusters int) bool {
		m := Mean{Clusters: clusters, StandardError: math.Sqrt(variance / float64(clusters))}
		return m.Detectable(power) <= difference
	}
	low, high := 1, 2
	for !detects(high) {
		if low, high = high, high*2; high > mostClusters {
			return 0, false
		}
	}
	for low+1 < high {
		if middle := (low + high) / 2; detects(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, true
}
