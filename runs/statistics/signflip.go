package statistics

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

const (
	// exactClusters is the largest number of clusters of which SignFlip tries all signs.
	exactClusters = 20
	// drawnSigns is the number of random signs that it draws for more.
	drawnSigns = 100_000
	// slack is the rounding of a sum of differences.
	slack = 1e-12
)

// SignFlip returns the p-value of the hypothesis that paired differences are as often positive as
// negative: the share of signs of the clusters' sums for which their total is at least as far from
// 0. It is exact up to 20 clusters and drawn for more.
func SignFlip(differences []Observation) float64 {
	sums := sumsByCluster(differences, 0)
	total := 0.0
	for _, sum := range sums {
		total += sum
	}
	extreme := math.Abs(total) - slack
	if len(sums) <= exactClusters {
		return flipAll(sums, total, extreme)
	}
	random := draws()
	found := 0
	for range drawnSigns {
		flipped := 0.0
		var signs uint64
		for i, sum := range sums {
			if i%64 == 0 {
				signs = random.Uint64()
			}
			if signs&1 == 0 {
				sum = -sum
			}
			flipped += sum
			signs >>= 1
		}
		if math.Abs(flipped) >= extreme {
			found++
		}
	}
	return float64(found+1) / (drawnSigns + 1)
}

// flipAll tries all signs. Each step changes one, in the order of a Gray code.
func flipAll(sums []float64, total, extreme float64) float64 {
	signs := make([]float64, len(sums))
	for i := range signs {
		signs[i] = 1
	}
	all, found := 1<<len(sums), 0
	for step := 1; ; step++ {
		if math.Abs(total) >= extreme {
			found++
		}
		if step == all {
			return float64(found) / float64(all)
		}
		i := bits.TrailingZeros(uint(step))
		total -= 2 * signs[i] * sums[i]
		signs[i] = -signs[i]
	}
}

// Holm returns p-values adjusted for being looked at together, in the given order: the probability
// that any of them is as small by chance.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted, largest := make([]float64, len(p)), 0.0
	for rank, i := range order {
		largest = max(largest, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = largest
	}
	return adjusted
}
