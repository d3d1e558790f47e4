package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueuePerSweep fills the queue of one sweep. Another sweep has its own.
func TestQueuePerSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room = 20
		limiter := replica(t, newMemory(), "r0", func(c *Config) { c.Queue = room; c.Limits = Limits{"openai": {Concurrency: 1}} })
		held := begin(t, limiter, request("large"))
		ended := make(chan error, 3*room)
		wait := func(sweep string) {
			permit, err := limiter.Acquire(t.Context(), request(sweep))
			if err == nil {
				permit.Done(Outcome{Class: Succeeded})
			}
			ended <- fmt.Errorf("%s: %w", sweep, err)
		}
		for range 2 * room {
			go wait("large")
		}
		synctest.Wait()
		for range room {
			go wait("small")
		}
		synctest.Wait()
		for range room {
			if err := <-ended; !errors.Is(err, ErrQueueFull) || !strings.HasPrefix(err.Error(), "large: ") {
				t.Errorf("while the queue is full: got %v, want ErrQueueFull of the large sweep", err)
			}
		}
		held.Done(Outcome{Class: Succeeded})
		for range 2 * room {
			if err := <-ended; errors.Is(err, ErrQueueFull) {
				t.Errorf("of those that had a place: got %v, want it to begin", err)
			}
		}
	})
}

// TestLargeRequestIsNotStarved requests nearly a minute's tokens at once beside a stream of small
// requests.
func TestLargeRequestIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", limited(Limit{Tokens: 10_000}))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		var group sync.WaitGroup
		var small, large atomic.Int32
		work := func(tokens int64, n *atomic.Int32) {
			for ctx.Err() == nil {
				d := request("s")
				d.Estimate.Tokens = tokens
				if permit, err := limiter.Acquire(ctx, d); err == nil {
					n.Add(1)
					permit.Done(Outcome{Class: Succeeded})
				}
			}
		}
		for range 10 {
			group.Go(func() { work(500, &small) })
		}
		group.Go(func() { work(9000, &large) })
		group.Wait()
		if s, l := small.Load(), large.Load(); l < 4 || s < 30 {
			t.Errorf("in 20 minutes: got %d small and %d large requests, want at least 30 and 4", s, l)
		}
	})
}

// TestOvershoot begins a thousand turns at once that use 40 times their estimate. Spending exceeds
// the limit only slightly.
func TestOvershoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, used = 1_000_000, 10_800
		limiter := replica(t, newMemory(), "r0", nil)
		d := request("s")
		d.Limit = Cost{Tokens: limit}
		var group sync.WaitGroup
		for range 1000 {
			group.Go(func() {
				for {
					permit, err := limiter.Acquire(t.Context(), d)
					if err != nil {
						return
					}
					sleep(t.Context(), 5*time.Second)
					permit.Done(Outcome{Class: Succeeded, Cost: Cost{Tokens: 800 + used - 800}})
				}
			})
		}
		group.Wait()
		if got := costOf(limiter); got.Tokens > limit+minSamples*used || got.Tokens < limit-used {
			t.Errorf("spent of %d tokens: got %v, want at most %d requests' more", limit, got, minSamples)
		}
	})
}

// TestLimitIsRaised reaches a limit after a higher one has been set.
func TestLimitIsRaised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", limited(Limit{Concurrency: 1}))
		low, high := request("s"), request("s")
		low.Limit, high.Limit = Cost{Tokens: 1500}, Cost{Tokens: 10_000}
		held := begin(t, limiter, low)
		ended := map[string]chan error{"low": make(chan error, 3), "high": make(chan error, 3)}
		for range 3 {
			for _, name := range []string{"low", "high"} {
				d := map[string]Request{"low": low, "high": high}[name]
				go func() {
					permit, err := limiter.Acquire(t.Context(), d)
					if err == nil {
						permit.Done(Outcome{Class: Succeeded})
					}
					ended[name] <- err
				}()
				synctest.Wait()
			}
		}
		synctest.Wait()
		held.Done(Outcome{Class: Succeeded})
		for range 3 {
			if err := <-ended["high"]; err != nil {
				t.Errorf("with the higher limit: got %v, want it to begin", err)
			}
			if err := <-ended["low"]; err != nil {
				t.Errorf("with the lower limit, which is not the last one: got %v, want it to begin", err)
			}
		}
	})
}

// TestNoUsage uses a server that reports no usage. The limit applies to the estimates.
func TestNoUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", nil)
		d := request("s")
		d.Limit = Cost{Tokens: 10_000}
		began := 0
		for range 100 {
			permit, err := limiter.Acquire(t.Context(), d)
			if errors.Is(err, ErrSpendLimit) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			permit.Done(Outcome{Class: Succeeded})
			began++
		}
		if began != 10 {
			t.Errorf("requests of 1000 tokens within a limit of 10000: got %d, want 10", began)
		}
	})
}

// TestShortAnswersFirst gives short answers until the estimate is small. The limit still bounds
// what begins at once, because later answers may be long.
func TestShortAnswersFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, many = 100_000, 2000
		limiter := replica(t, newMemory(), "r0", nil)
		d := request("s")
		d.Limit = Cost{Tokens: limit}
		for range 20 {
			begin(t, limiter, d).Done(Outcome{Class: Succeeded, Cost: Cost{Tokens: 1 + 1}})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var began atomic.Int32
		var group sync.WaitGroup
		for range many {
			group.Go(func() {
				if permit, err := limiter.Acquire(ctx, d); err == nil {
					began.Add(1)
					<-ctx.Done()
					permit.Done(Outcome{Class: Succeeded})
				}
			})
		}
		sleep(t.Context(), 10*time.Second)
		most := int32(limit / (minRatio * float64(d.Estimate.Tokens)))
		if got := began.Load(); got > most || got < most*9/10 {
			t.Errorf("requests at once within %d tokens: got %d, want some %d", limit, got, most)
		}
		cancel()
		group.Wait()
	})
}
