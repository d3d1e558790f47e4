package statistics

import (
	"cmp"
	"math"
	"slices"
)

const (
	// exactClusters is the largest number of clusters of which SignFlip tries all signs.
	exactClusters = 20
	// drawnSigns is the number of random signs that it draws for more.
	drawnSigns = 100_000
	// slack bounds the rounding of a sum of differences between −1 and 1, for each of them. It holds
	// for thousands: adding n numbers is wrong by at most n·2⁻⁵³ for each.
	slack = 1e-12
)

// SignFlip returns the p-value of the hypothesis that paired differences are as often positive as
// negative: the share of signs of the clusters' sums for which their total is at least as far from
// 0. It is exact up to 20 clusters and drawn for more. Differences are between −1 and 1.
func SignFlip(differences []Observation) float64 {
	sums := sumsByCluster(differences, 0)
	total := 0.0
	for _, sum := range sums {
		total += sum
	}
	extreme := math.Abs(total) - slack*float64(len(differences))
	found := 0
	if len(sums) <= exactClusters {
		left, right := signedTotals(sums[:len(sums)/2]), signedTotals(sums[len(sums)/2:])
		for _, a := range left {
			for _, b := range right {
				if math.Abs(a+b) >= extreme {
					found++
				}
			}
		}
		return float64(found) / float64(len(left)*len(right))
	}
	random := draws()
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

// signedTotals returns the total of sums for each choice of their signs. Each is added up on its
// own, so that rounding does not grow with their number.
func signedTotals(sums []float64) []float64 {
	totals := []float64{0}
	for _, sum := range sums {
		for i, total := range totals {
			totals[i] = total + sum
			totals = append(totals, total-sum)
		}
	}
	return totals
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
