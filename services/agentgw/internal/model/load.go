package model

import "sync"

// load counts requests by sweep. Safe for concurrent use. The zero value is ready to use.
type load struct {
	mu     sync.Mutex
	counts map[string]int
}

// begin counts a request until end is called.
func (l *load) begin(sweep string) (end func()) {
	l.add(sweep, 1)
	return func() { l.add(sweep, -1) }
}

func (l *load) add(sweep string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = make(map[string]int)
	}
	if l.counts[sweep] += n; l.counts[sweep] == 0 {
		delete(l.counts, sweep)
	}
}

// of returns the number of a sweep's requests, or of all if sweep is empty.
func (l *load) of(sweep string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sweep != "" {
		return l.counts[sweep]
	}
	sum := 0
	for _, n := range l.counts {
		sum += n
	}
	return sum
}

// Load returns the number of requests of a sweep, or of all if sweep is empty, without an answer
// yet, and of those that wait for their budget.
func (p *Player) Load(sweep string) (asked, limited int) {
	return p.asked.of(sweep), p.limited.of(sweep)
}
