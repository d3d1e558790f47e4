package euroeval

import "math/bits"

// pcg64 is NumPy's default generator: PCG XSL RR 128/64 by Melissa O'Neill (www.pcg-random.org),
// seeded through NumPy's SeedSequence. The standard library's PCG has another output function, and
// that of golang.org/x/exp has another increment.
type pcg64 struct {
	high, low       uint64 // state
	incHigh, incLow uint64
	// upperHalf is the unused upper half of the last number.
	upperHalf    uint32
	hasUpperHalf bool
}

// newPCG64 returns the generator of numpy.random.default_rng(seed).
func newPCG64(seed uint64) *pcg64 {
	words := seedSequence(seed)
	g := &pcg64{incHigh: words[2]<<1 | words[3]>>63, incLow: words[3]<<1 | 1}
	g.step()
	var carry uint64
	g.low, carry = bits.Add64(g.low, words[1], 0)
	g.high, _ = bits.Add64(g.high, words[0], carry)
	g.step()
	return g
}

// step multiplies the state by PCG's 128-bit constant and adds the increment.
func (g *pcg64) step() {
	const high, low = 0x2360ed051fc65da4, 0x4385df649fccf645
	h, l := bits.Mul64(g.low, low)
	h += g.high*low + g.low*high
	var carry uint64
	g.low, carry = bits.Add64(l, g.incLow, 0)
	g.high, _ = bits.Add64(h, g.incHigh, carry)
}

// uint32 returns half of the next number, the lower half first.
func (g *pcg64) uint32() uint32 {
	if g.hasUpperHalf {
		g.hasUpperHalf = false
		return g.upperHalf
	}
	g.step()
	next := bits.RotateLeft64(g.high^g.low, -int(g.high>>58))
	g.upperHalf, g.hasUpperHalf = uint32(next>>32), true
	return uint32(next)
}

// intN returns a random number in [0, n) by Lemire's method, as Generator.integers does. n is from
// 1 to 1<<32 - 1. For n = 1 it draws nothing.
func (g *pcg64) intN(n uint32) uint32 {
	if n == 1 {
		return 0
	}
	product := uint64(g.uint32()) * uint64(n)
	if uint32(product) < n {
		for threshold := -n % n; uint32(product) < threshold; {
			product = uint64(g.uint32()) * uint64(n)
		}
	}
	return uint32(product >> 32)
}

// seedSequence returns SeedSequence(seed).generate_state(4, uint64) of NumPy. The algorithm is that
// of Melissa O'Neill's seed_seq_fe with a pool of four words.
func seedSequence(seed uint64) (words [4]uint64) {
	const (
		initA, multA = 0x43b0d7e5, 0x931e8875
		initB, multB = 0x8b51f9dd, 0x58f38ded
		mixL, mixR   = 0xca01f9dd, 0x4973f715
		pool         = 4
	)
	key := uint32(initA)
	hash := func(value uint32, mult uint32) uint32 {
		value ^= key
		key *= mult
		value *= key
		return value ^ value>>16
	}
	mixed := [pool]uint32{uint32(seed), uint32(seed >> 32)}
	for i := range mixed {
		mixed[i] = hash(mixed[i], multA)
	}
	for from := range mixed {
		for to := range mixed {
			if from == to {
				continue
			}
			value := mixL*mixed[to] - mixR*hash(mixed[from], multA)
			mixed[to] = value ^ value>>16
		}
	}
	key = initB
	for i := range 2 * len(words) {
		words[i/2] |= uint64(hash(mixed[i%pool], multB)) << (32 * (i % 2))
	}
	return words
}
