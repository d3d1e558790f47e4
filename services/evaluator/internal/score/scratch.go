package score

import "sync"

// scratchPool holds scratches without used numbers.
var scratchPool = sync.Pool{New: func() any { return new(scratch) }}

// scratch is memory for the numbers of one scoring. A later scoring uses it again.
type scratch struct {
	numbers [4096]float64 // all 0 from used on
	used    int
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
