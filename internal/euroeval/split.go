package euroeval

import (
	"math/bits"

	"gonum.org/v1/gonum/mathext/prng"
)

const (
	// SplitSeed is the seed of EuroEval's shuffle.
	SplitSeed = 42
	// splitSize is the number of records of the train split, and of the validation split.
	splitSize = 250
)

// Split is the parts of a data set, as places in the list of all its records, from 0.
type Split struct {
	Train, Val, Test []int
}

// NewSplit shuffles n records as EuroEval does: Python's random.shuffle, then 250 records to
// train, 250 to val and the rest to test.
func NewSplit(n int, seed uint32) Split {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	source := prng.NewMT19937()
	source.SeedFromKeys([]uint32{seed}) // as random.seed does for an int below 1 << 32
	for i := n - 1; i > 0; i-- {
		j := below(source, i+1)
		order[i], order[j] = order[j], order[i]
	}
	val := min(splitSize, n)
	test := min(2*splitSize, n)
	return Split{Train: order[:val:val], Val: order[val:test:test], Test: order[test:]}
}

// below returns a random number in [0, n), as Python's Random._randbelow does. n is at least 1 and
// fits 32 bits.
func below(source *prng.MT19937, n int) int {
	shift := 32 - bits.Len(uint(n))
	for {
		if r := int(source.Uint32() >> shift); r < n {
			return r
		}
	}
}
