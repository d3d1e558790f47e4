package statistics

import "math"

// Spread is the variance of a paired difference: between clusters, and between the trials of one.
type Spread struct {
	Between, Within float64
}

// byCluster returns the values of each cluster, in the order of the first observation of each.
func byCluster(observations []Observation) [][]float64 {
	var groups [][]float64
	at := make(map[string]int)
	for _, o := range observations {
		i, ok := at[o.Cluster]
		if !ok {
			i = len(groups)
			at[o.Cluster], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], o.Value)
	}
	return groups
}

func plainMean(values []float64) float64 {
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// WithinOf estimates the variance between the observations of one cluster. ok is false without a
// cluster of two observations.
func WithinOf(observations []Observation) (within float64, ok bool) {
	groups := byCluster(observations)
	if len(observations) <= len(groups) {
		return 0, false
	}
	for _, values := range groups {
		mean := plainMean(values)
		for _, v := range values {
			within += (v - mean) * (v - mean)
		}
	}
	return variance(within / float64(len(observations)-len(groups))), true
}

// SpreadOf estimates the spread of observations by the method of moments. ok is false without two
// clusters, or without a cluster of two observations.
func SpreadOf(observations []Observation) (s Spread, ok bool) {
	groups := byCluster(observations)
	n, g := float64(len(observations)), float64(len(groups))
	within, ok := WithinOf(observations)
	if g < 2 || !ok {
		return Spread{}, false
	}
	all, between, sizes := MeanOf(observations).Mean, 0.0, 0.0
	for _, values := range groups {
		size, mean := float64(len(values)), plainMean(values)
		between += size * (mean - all) * (mean - all)
		sizes += size * size
	}
	typical := (n - sizes/n) / (g - 1)
	return Spread{Between: variance((between/(g-1) - within) / typical), Within: within}, true
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
