package rpc

import (
	"sync"
	"testing"
)

// TestPool runs more concurrent functions than goroutines stay idle. close ends the goroutines.
func TestPool(t *testing.T) {
	p := newPool()
	for range 3 {
		var ran sync.WaitGroup
		release := make(chan struct{})
		for range 2 * maxIdle {
			ran.Add(1)
			p.run(func() { <-release; ran.Done() })
		}
		close(release)
		ran.Wait()
	}
	p.close()
	if idle := p.idle.Load(); idle > maxIdle {
		t.Errorf("idle goroutines: got %d, want at most %d", idle, maxIdle)
	}
}
