package fuzzy

import "math/bits"

const (
	wordBits  = 64
	asciiSize = 128
)

// pattern is a text prepared for the bit-parallel longest common subsequence: the set of positions
// of each code point.
type pattern struct {
	size  int
	first block
	rest  []block
}

// block holds 64 positions of the pattern.
type block struct {
	ascii [asciiSize]uint64
	other []positions
}

type positions struct {
	r    rune
	bits uint64
}

func (b *block) add(r rune, bit uint64) {
	if uint32(r) < asciiSize {
		b.ascii[r] |= bit
		return
	}
	for i := range b.other {
		if b.other[i].r == r {
			b.other[i].bits |= bit
			return
		}
	}
	b.other = append(b.other, positions{r, bit})
}

func (b *block) get(r rune) uint64 {
	if uint32(r) < asciiSize {
		return b.ascii[r]
	}
	for i := range b.other {
		if b.other[i].r == r {
			return b.other[i].bits
		}
	}
	return 0
}

// prepare sets p to a text and reuses p's memory.
func (p *pattern) prepare(text []rune) {
	p.size = len(text)
	p.first.ascii = [asciiSize]uint64{}
	p.first.other = p.first.other[:0]
	p.rest = p.rest[:0]
	for i, r := range text {
		b := &p.first
		if n := i / wordBits; n > len(p.rest) {
			p.rest = append(p.rest, block{})
		}
		if i >= wordBits {
			b = &p.rest[i/wordBits-1]
		}
		b.add(r, 1<<(i%wordBits))
	}
}

// contains reports whether r occurs in the pattern.
func (p *pattern) contains(r rune) bool {
	if p.first.get(r) != 0 {
		return true
	}
	for i := range p.rest {
		if p.rest[i].get(r) != 0 {
			return true
		}
	}
	return false
}

// distance returns the number of insertions and deletions between the pattern and a text.
func (p *pattern) distance(text []rune) int { return p.size + len(text) - 2*p.commonLength(text) }

// commonLength returns the length of the longest common subsequence of the pattern and a text. A
// zero bit of the state marks a position at which the subsequence grows.
func (p *pattern) commonLength(text []rune) int {
	if len(p.rest) > 0 {
		return p.commonLengthLong(text)
	}
	state := ^uint64(0)
	for _, r := range text {
		u := state & p.first.get(r)
		state = (state + u) | (state - u)
	}
	return bits.OnesCount64(^state)
}

func (p *pattern) commonLengthLong(text []rune) int {
	var few [16]uint64
	n := len(p.rest) + 1
	states := few[:min(n, len(few))]
	if n > len(few) {
		states = make([]uint64, n)
	}
	for i := range states {
		states[i] = ^uint64(0)
	}
	for _, r := range text {
		u := states[0] & p.first.get(r)
		sum, carry := bits.Add64(states[0], u, 0)
		states[0] = sum | (states[0] - u)
		for i := range p.rest {
			state := states[i+1]
			u := state & p.rest[i].get(r)
			sum, carry = bits.Add64(state, u, carry)
			states[i+1] = sum | (state - u)
		}
	}
	common := 0
	for _, state := range states {
		common += bits.OnesCount64(^state)
	}
	return common
}
