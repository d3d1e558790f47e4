package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/natstest"
)

// TestReplicasShareOverNATS lets three replicas work on one budget of a real server, one of which
// loses its connection.
func TestReplicasShareOverNATS(t *testing.T) {
	b := natstest.Start(t)
	const limit, spend = 8, 200
	cut := make(chan struct{})
	var mu sync.Mutex
	running, most, began := 0, 0, 0
	var group sync.WaitGroup
	d := demand("s")
	d.Limit = Spend{Tokens: spend * 1000}
	for n := range 3 {
		var store Store = b.Ledger
		if n == 2 {
			store = severed{store, cut}
		}
		g := replica(t, store, fmt.Sprint("r", n), func(c *Config) {
			c.Limits = map[string]Limit{"openai": {Concurrency: limit}}
			c.Jitter = rand.Float64
		})
		for range 8 {
			group.Go(func() {
				for {
					gr, err := g.Acquire(t.Context(), d)
					if err != nil {
						return
					}
					mu.Lock()
					running++
					began++
					most = max(most, running)
					if began == 50 {
						close(cut)
					}
					mu.Unlock()
					rest(t.Context(), 5*time.Millisecond)
					mu.Lock()
					running--
					mu.Unlock()
					gr.Done(Outcome{})
				}
			})
		}
		if n == 2 {
			go func() { // its workers would wait for ever
				<-cut
				rest(t.Context(), time.Second)
				_ = g.Close()
			}()
		}
	}
	group.Wait()
	t.Logf("%d requests began, at most %d at once", began, most)
	if most > limit {
		t.Errorf("requests at once: got %d, want at most %d", most, limit)
	}
	// What the replica spent after its last report is not known to the others: at most what it may
	// begin within its lease.
	if began < spend || began > spend+spend/2 {
		t.Errorf("requests that began: got %d, want %d and what the lost replica did not tell", began, spend)
	}
}

// BenchmarkAcquire measures a request's permission and its end when the replica has enough of the
// budget.
func BenchmarkAcquire(b *testing.B) {
	for _, test := range []struct {
		name  string
		limit Limit
	}{{"unlimited", Limit{}}, {"limited", Limit{Requests: 1 << 40, Tokens: 1 << 50, Concurrency: 5000}}} {
		b.Run(test.name, func(b *testing.B) {
			g := replica(b, natstest.Start(b).Ledger, "r0", limited(test.limit))
			begin(b, g, demand("s")).Done(Outcome{})
			b.ResetTimer()
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				begin(b, g, demand("s")).Done(Outcome{})
				times = append(times, time.Since(began))
			}
			percentiles(b, times)
		})
	}
}

// BenchmarkCrowd lets 5,000 requests wait for one budget and end at once.
func BenchmarkCrowd(b *testing.B) {
	g := replica(b, natstest.Start(b).Ledger, "r0", limited(Limit{Concurrency: 5000}))
	for b.Loop() {
		var group sync.WaitGroup
		for n := range 5000 {
			group.Go(func() { begin(b, g, demand(fmt.Sprint("s", n%2))).Done(Outcome{}) })
		}
		group.Wait()
	}
}
