package score

import "sync"

// scratchPool holds unused scratches.
var scratchPool sync.Pool

// scratch is memory for the numbers of one scoring, which a later scoring reuses.
type scratch struct {
	numbers [4096]float64 // all 0 from used on
	used    int
}

// newScratch returns an unused scratch.
func newScratch() *scratch {
	if s, ok := scratchPool.Get().(*scratch); ok {
		return s
	}
	return new(scratch)
}

// release returns the scratch to the pool. No slice of it may be in use.
func (s *scratch) release() {
	clear(s.numbers[:s.used])
	s.used = 0
	scratchPool.Put(s)
}

// zeros returns n zeros, which are valid until the end of the scoring.
func (p *preparedTrajectory) zeros(n int) []float64 {
	s := p.scratch
	if s == nil || n > len(s.numbers)-s.used {
		return make([]float64, n)
	}
	s.used += n
	return s.numbers[s.used-n : s.used : s.used]
}
