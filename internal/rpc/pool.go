package rpc

import (
	"sync"
	"sync/atomic"
)

// maxIdle is the maximum number of idle goroutines of a pool. The runtime shrinks their stacks.
const maxIdle = 1 << 13

// pool runs functions in goroutines. It reuses idle goroutines, so that their stacks need not grow
// again. The caller that creates a pool closes it after the last run.
type pool struct {
	work  chan func() // taken by idle goroutines
	idle  atomic.Int32
	group sync.WaitGroup
}

func newPool() *pool { return &pool{work: make(chan func())} }

// run runs f in a goroutine of the pool.
func (p *pool) run(f func()) {
	select {
	case p.work <- f:
	default: // none is idle
		p.group.Go(func() { p.serve(f) })
	}
}

// serve runs f and then further functions.
func (p *pool) serve(f func()) {
	for ok := true; ok; {
		f()
		if p.idle.Add(1) > maxIdle {
			p.idle.Add(-1)
			return
		}
		if f, ok = <-p.work; ok {
			p.idle.Add(-1)
		}
	}
}

// close ends the goroutines and waits for them.
func (p *pool) close() {
	close(p.work)
	p.group.Wait()
}
