package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// TestSmallSweepGetsIntoAFullQueue fills the queue with one sweep: another one's request takes the
// place of its last, which is told so.
func TestSmallSweepGetsIntoAFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room = 20
		g := replica(t, newMemory(), "r0", func(c *Config) { c.Queue = room; c.Limits = map[string]Limit{"openai": {Concurrency: 1}} })
		held := begin(t, g, demand("large"))
		ended := make(chan error, room+room)
		wait := func(sweep string) {
			gr, err := g.Acquire(t.Context(), demand(sweep))
			if err == nil {
				gr.Done(Outcome{})
			}
			ended <- fmt.Errorf("%s: %w", sweep, err)
		}
		for range room {
			go wait("large")
		}
		synctest.Wait()
		for range room {
			go wait("small")
		}
		synctest.Wait()
		refused := make(map[string]int)
		for range room {
			err := <-ended
			if !errors.Is(err, ErrQueue) {
				t.Errorf("while the queue is full: got %v, want ErrQueue", err)
			}
			sweep, _, _ := strings.Cut(err.Error(), ":")
			refused[sweep]++
		}
		if refused["large"] != room/2 || refused["small"] != room/2 {
			t.Errorf("refused: got %v, want half of each", refused)
		}
		held.Done(Outcome{})
		for range room {
			if err := <-ended; errors.Is(err, ErrQueue) {
				t.Errorf("of those that had a place: got %v, want it to begin", err)
			}
		}
	})
}

// TestLargeRequestIsNotStarved lets somebody ask for nearly a minute's tokens at once beside others
// who always take a few.
func TestLargeRequestIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", limited(Limit{Tokens: 10_000}))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		var group sync.WaitGroup
		var small, large atomic.Int32
		work := func(tokens int64, n *atomic.Int32) {
			for ctx.Err() == nil {
				d := demand("s")
				d.InputTokens, d.OutputTokens = tokens, 0
				if gr, err := g.Acquire(ctx, d); err == nil {
					n.Add(1)
					gr.Done(Outcome{})
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

// TestOvershoot lets a thousand turns begin at once that use 40 times of what is estimated: what is
// spent beyond the limit is small.
func TestOvershoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, used = 1_000_000, 10_800
		g := replica(t, newMemory(), "r0", nil)
		d := demand("s")
		d.Limit = Spend{Tokens: limit}
		var group sync.WaitGroup
		for range 1000 {
			group.Go(func() {
				for {
					gr, err := g.Acquire(t.Context(), d)
					if err != nil {
						return
					}
					rest(t.Context(), 5*time.Second)
					gr.Done(Outcome{Usage: &agentgwv1.Usage{InputTokens: 800, OutputTokens: used - 800}})
				}
			})
		}
		group.Wait()
		if got := spentOf(g); got.Tokens > limit+blind*used || got.Tokens < limit-used {
			t.Errorf("spent of %d tokens: got %v, want at most %d requests' more", limit, got, blind)
		}
	})
}

// TestHugeUsage lets a provider say that it used more tokens than there are numbers for.
func TestHugeUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", limited(Limit{Tokens: 100_000}))
		d := demand("s")
		d.Limit = Spend{Tokens: 50_000}
		for range 2 {
			begin(t, g, d).Done(Outcome{Usage: &agentgwv1.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64}})
			if got, err := g.Acquire(t.Context(), d); !errors.Is(err, ErrSpent) {
				t.Fatalf("after it: got %v, %v, want ErrSpent", got, err)
			}
			d.Sweep, d.Model = "u", "other"
		}
		all := Spend{Tokens: math.MaxInt64, Micros: math.MaxInt64}
		if got := all.Plus(all); got != (Spend{Tokens: most, Micros: most}) || (Spend{}).minus(got).minus(got).Tokens >= 0 {
			t.Errorf("sum of all there is: got %v, want it to stop", got)
		}
	})
}

// TestUnknownPrice bounds money where nobody knows what the model costs.
func TestUnknownPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", nil)
		d := demand("s")
		d.Metered, d.Limit = true, Spend{Micros: 5_000_000}
		_, err := g.Acquire(t.Context(), d)
		const want = "budget of openai: spend limit cannot be kept: the price of unknown is not known: " +
			"give a table of prices that has it (--agentgw-price-file), or limit tokens too (--spend-tokens)"
		if !errors.Is(err, ErrUnpriced) || err.Error() != want {
			t.Errorf("Acquire: got %v, want %s", err, want)
		}
		d.Limit.Tokens = 5000
		begin(t, g, d).Done(Outcome{})
		d.Limit, d.Metered = Spend{Micros: 5_000_000}, false // a server of one's own
		begin(t, g, d).Done(Outcome{})
	})
}

// TestLimitIsRaisedMeanwhile lets a limit be reached after a higher one has come.
func TestLimitIsRaisedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", limited(Limit{Concurrency: 1}))
		low, high := demand("s"), demand("s")
		low.Limit, high.Limit = Spend{Tokens: 1500}, Spend{Tokens: 10_000}
		held := begin(t, g, low)
		ended := map[string]chan error{"low": make(chan error, 3), "high": make(chan error, 3)}
		for range 3 {
			for _, name := range []string{"low", "high"} {
				d := map[string]Request{"low": low, "high": high}[name]
				go func() {
					gr, err := g.Acquire(t.Context(), d)
					if err == nil {
						gr.Done(Outcome{})
					}
					ended[name] <- err
				}()
				synctest.Wait()
			}
		}
		synctest.Wait()
		held.Done(Outcome{})
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

// TestUsageOfNothing has a server that says of every answer that it took no tokens: the limit holds
// by what is estimated.
func TestUsageOfNothing(t *testing.T) {
	for name, usage := range map[string]*agentgwv1.Usage{"zeros": {}, "less than nothing": {InputTokens: -5, OutputTokens: -1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := replica(t, newMemory(), "r0", nil)
				d := demand("s")
				d.Limit = Spend{Tokens: 10_000}
				began := 0
				for range 100 {
					gr, err := g.Acquire(t.Context(), d)
					if errors.Is(err, ErrSpent) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					gr.Done(Outcome{Usage: usage})
					began++
				}
				if began != 10 {
					t.Errorf("requests of 1000 tokens within a limit of 10000: got %d, want 10", began)
				}
			})
		})
	}
}

// TestTinyAnswersFirst lets a model say next to nothing until its estimate is small: what may begin
// at once is still bounded by the limit, for the next answers may be long.
func TestTinyAnswersFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, many = 100_000, 2000
		g := replica(t, newMemory(), "r0", nil)
		d := demand("s")
		d.Limit = Spend{Tokens: limit}
		for range 20 {
			begin(t, g, d).Done(Outcome{Usage: &agentgwv1.Usage{InputTokens: 1, OutputTokens: 1}})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var began atomic.Int32
		var group sync.WaitGroup
		for range many {
			group.Go(func() {
				if gr, err := g.Acquire(ctx, d); err == nil {
					began.Add(1)
					<-ctx.Done()
					gr.Done(Outcome{})
				}
			})
		}
		rest(t.Context(), 10*time.Second)
		most := int32(limit * trust / (d.InputTokens + d.OutputTokens))
		if got := began.Load(); got > most || got < most*9/10 {
			t.Errorf("requests at once within %d tokens: got %d, want some %d", limit, got, most)
		}
		cancel()
		group.Wait()
	})
}
