package statistics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Observation is a number that was observed in a cluster.
type Observation struct {
	Cluster string
	Value   float64
}

// Mean is the mean of observations.
type Mean struct {
	// Mean is NaN without observations.
	Mean float64
	// Count is the number of observations, Clusters that of their clusters.
	Count, Clusters int
	// StandardError is robust to dependence within clusters, NaN below two clusters. It is 0 if all
	// clusters have the same mean but for rounding: then it tells nothing.
	StandardError float64
}

// Average is the mean of numbers, added in their order.
type Average struct {
	sum    float64
	count  int
	missed bool
}

// Add adds a number.
func (a *Average) Add(number float64) { a.sum, a.count = a.sum+number, a.count+1 }

// Miss notes a number that nobody knows.
func (a *Average) Miss() { a.missed = true }

// Value returns the mean, nil without numbers or if one is missing.
func (a *Average) Value() *float64 {
	if a.count == 0 || a.missed {
		return nil
	}
	return new(a.sum / float64(a.count))
}

// Interval is an interval of Confidence.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Within reports whether the interval lies between two bounds.
func (i Interval) Within(low, high float64) bool { return i.Low >= low && i.High <= high }

// Width returns the width of the interval.
func (i Interval) Width() float64 { return i.High - i.Low }

// MeanOf returns the mean of observations.
func MeanOf(observations []Observation) Mean {
	m := Mean{Count: len(observations), Mean: math.NaN(), StandardError: math.NaN()}
	if m.Count == 0 {
		return m
	}
	n := float64(m.Count)
	sum := 0.0
	for _, o := range observations {
		sum += o.Value
	}
	m.Mean = sum / n
	residuals := sumsByCluster(observations, m.Mean)
	if m.Clusters = len(residuals); m.Clusters < 2 {
		return m
	}
	squares := 0.0
	for _, residual := range residuals {
		squares += residual * residual
	}
	g := float64(m.Clusters)
	if m.StandardError = math.Sqrt(g/(g-1)*squares) / n; m.StandardError < slack {
		m.StandardError = 0
	}
	return m
}

// sumsByCluster returns the sum of each cluster's differences from a value, in the order of the
// first observation of each cluster.
func sumsByCluster(observations []Observation, from float64) []float64 {
	var sums []float64
	at := make(map[string]int)
	for _, o := range observations {
		i, ok := at[o.Cluster]
		if !ok {
			i = len(sums)
			at[o.Cluster], sums = i, append(sums, 0)
		}
		sums[i] += o.Value - from
	}
	return sums
}

// Interval returns the interval of the mean by Student's t with one degree of freedom less than
// clusters. ok is false below two clusters.
func (m Mean) Interval() (i Interval, ok bool) {
	if m.Clusters < 2 {
		return Interval{}, false
	}
	half := quantile((1+Confidence)/2, m.Clusters) * m.StandardError
	return Interval{m.Mean - half, m.Mean + half}, true
}

// Method is how an interval was computed.
type Method string

// These are the methods of ScoreInterval.
const (
	StudentT       Method = "Student's t"
	ClopperPearson Method = "Clopper and Pearson"
	Bets           Method = "betting"
)

// ScoreInterval returns the interval of the mean of scores, or of differences, that lie between low
// and high. It is that of Student's t. Where all clusters have the same mean, no standard error
// tells how far they may differ: the interval is that of a rate at low and at high, and that of
// Betting between. ok is false below two clusters, and where the interval leaves low to high: too
// few clusters for it.
func ScoreInterval(scores []Observation, low, high float64) (i Interval, by Method, ok bool) {
	m := MeanOf(scores)
	switch {
	case m.Clusters < 2:
		return Interval{}, "", false
	case m.StandardError > 0:
		i, _ = m.Interval()
		return i, StudentT, i.Within(low, high)
	case m.Mean == low || m.Mean == high:
		rates, width := slices.Clone(scores), high-low
		for at := range rates {
			rates[at].Value = (m.Mean - low) / width
		}
		rate := ExactRate(rates)
		return Interval{low + width*rate.Low, low + width*rate.High}, ClopperPearson, true
	}
	return Betting(slices.Repeat([]float64{m.Mean}, m.Clusters), low, high, 1-Confidence), Bets, true
}

// Detectable returns the smallest true difference from 0 that a mean with this standard error shows
// with a power of at least 1/2, NaN below two clusters.
func (m Mean) Detectable(power float64) float64 {
	if m.Clusters < 2 {
		return math.NaN()
	}
	return (quantile((1+Confidence)/2, m.Clusters) + quantile(power, m.Clusters)) * m.StandardError
}

// quantile returns a quantile p of at least 1/2 of Student's t for a number of clusters of at least
// 2.
func quantile(p float64, clusters int) float64 {
	freedom := float64(clusters - 1)
	x := mathext.InvRegIncBeta(freedom/2, 0.5, 2*(1-p))
	return math.Sqrt(freedom * (1 - x) / x)
}
