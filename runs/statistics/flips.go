package statistics

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// exactFlips is the largest number of clusters of which SignFlips uses all signs.
	exactFlips = 13
	// drawnFlips is the number of signs for more, the observed ones included.
	drawnFlips = 10_000
	// flipSteps halve the interval of a bound until only rounding is left.
	flipSteps = 42
)

// Draw is the value of a cluster, by its number from 0.
type Draw struct {
	Cluster int
	Value   float64
}

// SignFlips tests while clusters are drawn whether their mean is 0: whether their signs are
// chance. Under that hypothesis each cluster could as well have had the other sign at all
// looks, so the observed course of the sum is one of many like ones. At each look the farthest
// sums from 0 among the courses that are left are rejected, as many as may be spent by then.
// The observed one is rejected with at most the probability that is spent, however the clusters
// are distributed as long as that is symmetric, and also if a later look replaces a cluster's
// value by a better one.
//
// Rounding does not change that probability. A sum is updated as values come and are replaced, and
// each update rounds, but a course's sum is a function of its signed values alone, of which the
// courses of another observed one are the same, in another order. Rounding may only part courses
// whose sums are equal.
//
// All signs are used up to 13 clusters and drawn for more. Not for concurrent use.
type SignFlips struct {
	signs   signs
	history []flipLook
	course  flipCourse
}

type flipLook struct {
	draws []Draw
	spent float64
}

// NewSignFlips returns a test of a number of clusters that has seen none. The seed draws the
// signs.
func NewSignFlips(clusters int, seed int64) *SignFlips {
	f := &SignFlips{signs: newSigns(clusters, seed)}
	f.course = newFlipCourse(f.signs)
	return f
}

// Look adds or replaces clusters, and reports whether this or an earlier look rejects 0. spent
// is the probability of that by now if the hypothesis holds; it never falls.
func (f *SignFlips) Look(draws []Draw, spent float64) (rejected bool) {
	look := flipLook{slices.Clone(draws), spent}
	f.history = append(f.history, look)
	f.course.look(look, 0)
	return f.course.crossed[0]
}

// Interval returns the means that no look has rejected, between low and high. It contains the
// mean with the probability that is not spent.
func (f *SignFlips) Interval(low, high float64) Interval {
	rejects := func(mean float64) bool {
		course := newFlipCourse(f.signs)
		for _, look := range f.history {
			if course.look(look, mean); course.crossed[0] {
				return true
			}
		}
		return false
	}
	sum, n := 0.0, 0
	for i, known := range f.course.known {
		if known {
			sum, n = sum+f.course.values[i], n+1
		}
	}
	if n == 0 {
		return Interval{low, high}
	}
	inside := sum / float64(n)
	bound := func(outside float64) float64 {
		kept := inside
		if !rejects(outside) {
			return outside
		}
		for range flipSteps {
			if middle := (kept + outside) / 2; rejects(middle) {
				outside = middle
			} else {
				kept = middle
			}
		}
		return kept
	}
	return Interval{bound(low), bound(high)}
}

// signs are many signs of clusters: for each cluster a bit per course. Those of the first
// course, the observed one, are 0.
type signs struct {
	bits            [][]uint64
	count, clusters int
}

func newSigns(clusters int, seed int64) signs {
	s := signs{count: drawnFlips, clusters: clusters, bits: make([][]uint64, clusters)}
	if clusters <= exactFlips {
		s.count = 1 << clusters
	}
	random := rand.New(rand.NewPCG(2408, uint64(seed)))
	for c := range s.bits {
		s.bits[c] = make([]uint64, (s.count+63)/64)
		for i := range s.bits[c] {
			s.bits[c][i] = random.Uint64()
		}
		s.bits[c][0] &^= 1
		if clusters > exactFlips {
			continue
		}
		for i := range s.count {
			s.bits[c][i/64] &^= 1 << (i % 64)
			s.bits[c][i/64] |= uint64(i>>c&1) << (i % 64)
		}
	}
	return s
}

// flipCourse is the courses of the sums of differences from a mean, by sign.
type flipCourse struct {
	signs   signs
	values  []float64 // of each cluster
	known   []bool
	sums    []float64
	crossed []bool
	count   int // of crossed ones
}

func newFlipCourse(s signs) flipCourse {
	return flipCourse{
		signs: s, values: make([]float64, s.clusters), known: make([]bool, s.clusters), sums: make([]float64, s.count), crossed: make([]bool, s.count),
	}
}

func (c *flipCourse) look(look flipLook, mean float64) {
	for _, d := range look.draws {
		c.set(d.Cluster, d.Value-mean)
	}
	more := int(look.spent*float64(len(c.sums))+slack) - c.count
	if more <= 0 {
		return
	}
	farthest := c.farthest(more + 1)
	for more < len(farthest) && more > 0 && farthest[more-1]-farthest[more] <= slack { // equal ones cross together
		more--
	}
	if more = min(more, len(farthest)); more == 0 {
		return
	}
	for i, sum := range c.sums {
		if !c.crossed[i] && math.Abs(sum) >= farthest[more-1] {
			c.crossed[i] = true
			c.count++
		}
	}
}

// set adds or replaces the value of a cluster.
func (c *flipCourse) set(cluster int, value float64) {
	change := value - c.values[cluster]
	c.values[cluster], c.known[cluster] = value, true
	if change == 0 {
		return
	}
	signed := [2]float64{change, -change}
	for at, bits := range c.signs.bits[cluster] {
		block := c.sums[64*at : min(64*at+64, len(c.sums))]
		for i := range block {
			block[i] += signed[bits&1]
			bits >>= 1
		}
	}
}

// farthest returns the n largest distances from 0 of the sums of courses that have not crossed,
// the largest first.
func (c *flipCourse) farthest(n int) []float64 {
	largest := make([]float64, 0, n+1)
	for i, sum := range c.sums {
		distance := math.Abs(sum)
		if c.crossed[i] || len(largest) == n && distance <= largest[n-1] {
			continue
		}
		at, _ := slices.BinarySearchFunc(largest, distance, func(a, b float64) int { return cmp.Compare(b, a) })
		if largest = slices.Insert(largest, at, distance); len(largest) > n {
			largest = largest[:n]
		}
	}
	return largest
}

// Spend returns how much of an error may be spent when a part of the information is there, from
// 0 to 1: the square of it, so that much is left for the end.
func Spend(part, total float64) float64 { return total * part * part }
