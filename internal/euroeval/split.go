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
	// smallTrain is the part of a small data set that is its train split: a tenth.
	smallTrain = 10
)

// Split is the parts of a data set, as places in the list of all its records, from 0.
type Split struct {
	Train, Val, Test []int
}

// NewSplit shuffles n records as EuroEval does: Python's random.shuffle, then 250 records to
// train, 250 to val and the rest to test.
func NewSplit(n int, seed uint32) Split { return newSplit(n, seed, splitSize, splitSize) }

// usableSplit is NewSplit where that leaves records for test. Of fewer, a tenth goes to train,
// which nobody is asked, and the rest to val and test in equal parts.
func usableSplit(n int) Split {
	if n > 2*splitSize {
		return NewSplit(n, SplitSeed)
	}
	train := (n + smallTrain - 1) / smallTrain
	return newSplit(n, SplitSeed, train, (n-train)/2)
}

func newSplit(n int, seed uint32, train, val int) Split {
	order := inOrder(n)
	source := prng.NewMT19937()
	source.SeedFromKeys([]uint32{seed}) // as random.seed does for an int below 1 << 32
	for i := n - 1; i > 0; i-- {
		j := below(source, i+1)
		order[i], order[j] = order[j], order[i]
	}
	return divide(order, train, val)
}

// divide gives places to the splits in their order.
func divide(order []int, train, val int) Split {
	train = min(train, len(order))
	val = min(train+val, len(order))
	return Split{Train: order[:train:train], Val: order[train:val:val], Test: order[val:]}
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
