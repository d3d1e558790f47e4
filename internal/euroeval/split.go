package euroeval

import (
	"math/bits"

	"gonum.org/v1/gonum/mathext/prng"
)

const (
	// splitSeed is the seed of EuroEval's shuffle.
	splitSeed = 42
	// splitSize is the number of records of the train split, and of the validation split.
	splitSize = 250
	// smallTrainDivisor divides the size of a small data set to get its train split.
	smallTrainDivisor = 10
)

// Split holds the splits of a data set as indices of its records, from 0.
type Split struct {
	Train, Val, Test []int
}

// NewSplit shuffles n records as EuroEval does: Python's random.shuffle, then 250 records for
// train, 250 for val and the rest for test.
func NewSplit(n int) Split { return newSplit(n, splitSize, splitSize) }

// usableSplit returns NewSplit's result if that leaves records for test. Otherwise a tenth is for
// train, which nobody evaluates, and val and test share the rest equally.
func usableSplit(n int) Split {
	if n > 2*splitSize {
		return NewSplit(n)
	}
	train := (n + smallTrainDivisor - 1) / smallTrainDivisor
	return newSplit(n, train, (n-train)/2)
}

func newSplit(n, train, val int) Split {
	order := indices(n)
	source := prng.NewMT19937()
	source.SeedFromKeys([]uint32{splitSeed}) // as random.seed does for an int below 1 << 32
	for i := n - 1; i > 0; i-- {
		j := randBelow(source, i+1)
		order[i], order[j] = order[j], order[i]
	}
	return partition(order, train, val)
}

// partition assigns indices to train, val and test, in this order.
func partition(order []int, train, val int) Split {
	train = min(train, len(order))
	val = min(train+val, len(order))
	return Split{Train: order[:train:train], Val: order[train:val:val], Test: order[val:]}
}

// randBelow returns a random number in [0, n), as Python's Random._randbelow does. n is at least 1
// and fits 32 bits.
func randBelow(source *prng.MT19937, n int) int {
	shift := 32 - bits.Len(uint(n))
	for {
		if r := int(source.Uint32() >> shift); r < n {
			return r
		}
	}
}
