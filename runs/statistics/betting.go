package statistics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

const (
	// bettingSteps halve the interval of a bound until only rounding is left.
	bettingSteps = 60
	// bettingBlock is a number of factors whose product is in the range of float64.
	bettingBlock = 16
)

// stakes are shares of a capital that a bet risks.
type stakes [8]float64

func bettingStakes() stakes { return stakes{0.03, 0.06, 0.12, 0.24, 0.4, 0.6, 0.8, 0.95} }

// Betting returns an interval of the mean of independent draws between low and high by betting:
// a gambler who doubts a mean bets against it, and gets rich if it is not the mean. The
// interval holds the means against which no gambler gets rich. It misses the mean with a
// probability of at most miss, whatever the distribution, and however often it is looked at
// while draws are added: a confidence sequence. It does not depend on the order of the draws.
//
// Without draws it is all from low to high.
func Betting(draws []float64, low, high, miss float64) Interval {
	width := high - low
	scaled := make([]float64, len(draws))
	for i, x := range draws {
		scaled[i] = min(1, max(0, (x-low)/width))
	}
	below := bettingBound(scaled, miss)
	for i := range scaled {
		scaled[i] = 1 - scaled[i]
	}
	return Interval{Low: low + width*below, High: high - width*bettingBound(scaled, miss)}
}

// bettingBound returns the lower bound of the mean of draws between 0 and 1: the largest mean
// against which a gambler who expects more gets 2/miss times as rich. The capital falls with it.
func bettingBound(draws []float64, miss float64) float64 {
	rich := math.Log(2 / miss)
	low, high := 0.0, 1.0
	for range bettingSteps {
		if middle := (low + high) / 2; logCapital(draws, middle) >= rich {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// logCapital returns the logarithm of what draws between 0 and 1 make of a capital of 1, of
// which every stake bets a part that their mean is more than this one.
func logCapital(draws []float64, mean float64) float64 {
	var logs [len(stakes{})]float64
	for i, stake := range bettingStakes() {
		for block := range slices.Chunk(draws, bettingBlock) {
			product := 1.0
			for _, x := range block {
				product *= 1 - stake + stake*x/mean
			}
			logs[i] += math.Log(product)
		}
	}
	return floats.LogSumExp(logs[:]) - math.Log(float64(len(logs)))
}
