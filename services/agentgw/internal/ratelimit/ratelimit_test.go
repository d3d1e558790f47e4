package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// trace is what happened in a simulated run.
type trace struct {
	mu     sync.Mutex
	starts []time.Duration // since the beginning
	tokens []int64
	sweeps map[string]int
	now    int
	most   int
}

// simulate lets workers of several sweeps ask for requests until the time is up, which
// end as outcome says.
func simulate(tb testing.TB, g *Limiter, sweeps map[string]int, length time.Duration, outcome func(r *rand.Rand) (time.Duration, Outcome)) *trace {
	tb.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(tb.Context(), length)
	defer cancel()
	seen := &trace{sweeps: make(map[string]int)}
	var group sync.WaitGroup
	for sweep, workers := range sweeps {
		for w := range workers {
			r := rand.New(rand.NewPCG(0, uint64(w)))
			group.Go(func() {
				for ctx.Err() == nil {
					d := demand(sweep)
					gr, err := g.Acquire(ctx, d)
					if err != nil {
						rest(ctx, time.Second)
						continue
					}
					wait, o := outcome(r)
					if o.Class == Unsent {
						gr.Done(o)
						continue
					}
					seen.note(time.Since(began), d, 1)
					rest(context.WithoutCancel(ctx), wait)
					seen.note(0, d, -1)
					gr.Done(o)
				}
			})
		}
	}
	group.Wait()
	return seen
}

func (t *trace) note(at time.Duration, d Request, by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now += by
	t.most = max(t.most, t.now)
	if by > 0 {
		t.starts = append(t.starts, at)
		t.tokens = append(t.tokens, d.InputTokens+d.OutputTokens)
		t.sweeps[d.Sweep]++
	}
}

// busiest returns the most requests and tokens that began within any minute.
func (t *trace) busiest() (requests int, tokens int64) {
	from, sum := 0, int64(0)
	for i, at := range t.starts {
		sum += t.tokens[i]
		for t.starts[from] <= at-time.Minute {
			sum -= t.tokens[from]
			from++
		}
		requests, tokens = max(requests, i-from+1), max(tokens, sum)
	}
	return requests, tokens
}

func success(r *rand.Rand) (time.Duration, Outcome) {
	return time.Duration(500+r.IntN(1500)) * time.Millisecond, Outcome{}
}

// faulty ends requests in all ways that there are.
func faulty(r *rand.Rand) (time.Duration, Outcome) {
	wait, o := success(r)
	switch n := r.IntN(1000); {
	case n < 2:
		o = Outcome{Class: Throttled, RetryAfter: time.Duration(r.IntN(5)) * time.Second}
	case n < 4:
		o.Class = Overloaded
	case n < 30:
		o.Class = Failed
	case n < 50:
		o.Class = Abandoned
	case n < 70:
		o.Class = Unsent
	default:
		o.Usage = &agentgwv1.Usage{InputTokens: 700 + r.Int64N(300), OutputTokens: r.Int64N(400)}
	}
	return wait, o
}

func TestNoMinuteExceedsTheLimit(t *testing.T) {
	for _, test := range []struct {
		limit    Limit
		outcome  func(r *rand.Rand) (time.Duration, Outcome)
		requests int // at least, in all
	}{
		{Limit{Requests: 600}, success, 1700},
		{Limit{Requests: 600}, faulty, 900},
		{Limit{Requests: 7}, success, 20},
		{Limit{Requests: 1}, success, 3},
		{Limit{Tokens: 100_000}, success, 290},
		{Limit{Tokens: 500}, success, 2},
		{Limit{Requests: 6000, Tokens: 300_000, Concurrency: 20}, faulty, 240},
		{Limit{Concurrency: 4}, success, 540},
		{Limit{Concurrency: 1}, success, 120},
	} {
		t.Run(fmt.Sprint(test.limit, test.requests), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := replica(t, newMemory(), "r0", limited(test.limit))
				seen := simulate(t, g, map[string]int{"a": 60, "b": 60}, 3*time.Minute, test.outcome)
				requests, tokens := seen.busiest()
				t.Logf("%s: %d requests, at most %d and %d tokens in a minute, %d at once; shares %v", test.limit, len(seen.starts), requests, tokens, seen.most, seen.sweeps)
				if l := test.limit.Requests; l > 0 && int64(requests) > l {
					t.Errorf("requests in the busiest minute: got %d, want at most %d", requests, l)
				}
				if l := max(test.limit.Tokens, 1000); test.limit.Tokens > 0 && tokens > l {
					t.Errorf("tokens in the busiest minute: got %d, want at most %d", tokens, l)
				}
				if l := test.limit.Concurrency; l > 0 && seen.most > l {
					t.Errorf("requests at once: got %d, want at most %d", seen.most, l)
				}
				if got := len(seen.starts); got < test.requests {
					t.Errorf("requests in all: got %d, want at least %d", got, test.requests)
				}
			})
		})
	}
}

func TestSweepsShareFairly(t *testing.T) {
	for _, limit := range []Limit{{Requests: 600}, {Tokens: 600_000}, {Concurrency: 8}} {
		t.Run(limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := simulate(t, replica(t, newMemory(), "r0", limited(limit)), map[string]int{"large": 200, "small": 20}, 2*time.Minute, success)
				all := len(seen.starts)
				for _, sweep := range []string{"large", "small"} {
					if share := float64(seen.sweeps[sweep]) / float64(all); share < 0.45 || share > 0.55 {
						t.Errorf("share of %s: got %.3f of %d, want 0.45 to 0.55", sweep, share, all)
					}
				}
			})
		})
	}
}

// TestQueueOrder checks the order in which requests begin when there is room for one at a time.
func TestQueueOrder(t *testing.T) {
	q := &queue{}
	names := map[*waiter]string{}
	for n, sweep := range []string{"a", "a", "a", "b", "b", "c"} {
		w := &waiter{sweep: sweep}
		names[w] = fmt.Sprint(sweep, n)
		q.push(w)
	}
	var order []string
	for q.n > 0 {
		w := q.next(func(w *waiter) bool { return w.sweep != "c" || q.n == 1 })
		order = append(order, names[w])
		q.serve(w, 1)
	}
	if want := []string{"a0", "b3", "a1", "b4", "a2", "c5"}; !slices.Equal(order, want) {
		t.Errorf("order: got %v, want %v", order, want)
	}
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", nil)
		gr := begin(t, g, demand("s"))
		refused := time.Now()
		gr.Done(Outcome{Class: Throttled, RetryAfter: 20 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Acquire(ctx, demand("s")); !errors.Is(err, ErrPaused) {
			t.Errorf("Acquire with a second's time: got %v, want ErrPaused", err)
		}
		begin(t, g, demand("s")).Done(Outcome{})
		if waited := time.Since(refused); waited < 20*time.Second || waited > 22*time.Second {
			t.Errorf("Acquire after Retry-After of 20 s: began after %s", waited)
		}
	})
}

// TestConcurrencyAdapts refuses what is more than eight at once, as a provider does whose limit
// nobody has told us.
func TestConcurrencyAdapts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room = 8
		g := replica(t, newMemory(), "r0", nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var mu sync.Mutex
		running, refused, served := 0, 0, 0
		var group sync.WaitGroup
		for range 64 {
			group.Go(func() {
				for ctx.Err() == nil {
					gr, err := g.Acquire(ctx, demand("s"))
					if err != nil {
						return
					}
					mu.Lock()
					full := running >= room
					if full {
						refused++
					} else {
						running++
						served++
					}
					mu.Unlock()
					if full {
						gr.Done(Outcome{Class: Throttled})
						continue
					}
					rest(context.WithoutCancel(ctx), time.Second)
					mu.Lock()
					running--
					mu.Unlock()
					gr.Done(Outcome{})
				}
			})
		}
		group.Wait()
		t.Logf("%d served, %d refused", served, refused)
		if share := float64(refused) / float64(served); share > 0.1 {
			t.Errorf("refused: got %d of %d, want at most a tenth", refused, served)
		}
		if least := room * 600 / 2; served < least {
			t.Errorf("served: got %d, want at least %d, half of what the provider can", served, least)
		}
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", func(c *Config) { c.BreakerFailures = 3; c.Limits = map[string]Limit{"openai": {Concurrency: 1}} })
		for range 2 {
			begin(t, g, demand("s")).Done(Outcome{Class: Failed})
		}
		third := begin(t, g, demand("s"))
		waiting := make(chan error)
		go func() {
			_, err := g.Acquire(t.Context(), demand("s"))
			waiting <- err
		}()
		synctest.Wait()
		third.Done(Outcome{Class: Failed, Reason: "connection refused"})
		if err := <-waiting; !errors.Is(err, ErrOpen) {
			t.Errorf("waiting request: got %v, want ErrOpen", err)
		}
		const last = "; the last reason was: connection refused"
		_, err := g.Acquire(t.Context(), demand("s"))
		if want := "budget of openai: provider is left alone after 3 failures in a row, tried again in 10s" + last; err == nil || err.Error() != want {
			t.Errorf("Acquire: got %v, want %s", err, want)
		}
		<-time.After(openFor + time.Millisecond)
		probe := begin(t, g, demand("s"))
		if _, err := g.Acquire(t.Context(), demand("s")); !errors.Is(err, ErrOpen) || !strings.HasSuffix(err.Error(), last) {
			t.Errorf("Acquire beside the probe: got %v, want ErrOpen with its reason", err)
		}
		probe.Done(Outcome{Class: Failed})
		<-time.After(openFor - time.Second)
		if _, err := g.Acquire(t.Context(), demand("s")); !errors.Is(err, ErrOpen) {
			t.Errorf("Acquire after a probe that failed: got %v, want ErrOpen for as long again", err)
		}
		<-time.After(time.Second + time.Millisecond)
		begin(t, g, demand("s")).Done(Outcome{Class: Rejected})
		begin(t, g, demand("s")).Done(Outcome{})
		begin(t, g, demand("s")).Done(Outcome{})
	})
}

// TestOutageIsWaitedFor lets a provider that has worked fail for long: it is waited
// for as long as a run waits.
func TestOutageIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", func(c *Config) { c.BreakerFailures = 3; c.MaxWait = 5 * time.Minute })
		begin(t, g, demand("s")).Done(Outcome{})
		out := time.Now()
		seen := map[error]int{}
		for time.Since(out) < 8*time.Minute {
			gr, err := g.Acquire(t.Context(), demand("s"))
			if err == nil {
				gr.Done(Outcome{Class: Failed})
				continue
			}
			want := ErrAway
			if time.Since(out) >= 5*time.Minute {
				want = ErrOpen
			}
			if !errors.Is(err, want) {
				t.Fatalf("after %s: got %v, want %v", time.Since(out), err, want)
			}
			if after := After(err); after <= 0 || after > openFor {
				t.Fatalf("after %s: asked to come back in %s, want some time of at most %s", time.Since(out), after, openFor)
			}
			seen[want]++
			rest(t.Context(), time.Second)
		}
		if seen[ErrAway] < 200 || seen[ErrOpen] < 100 {
			t.Errorf("refusals: got %v, want both kinds for minutes", seen)
		}
		rest(t.Context(), time.Minute)
		begin(t, g, demand("s")).Done(Outcome{})
		begin(t, g, demand("s")).Done(Outcome{})
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", func(c *Config) { c.Queue = 2; c.Limits = map[string]Limit{"openai": {Concurrency: 1}} })
		held := begin(t, g, demand("s"))
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := g.Acquire(ctx, demand("s"))
				failed <- err
			}()
		}
		synctest.Wait()
		if _, err := g.Acquire(ctx, demand("s")); !errors.Is(err, ErrQueue) {
			t.Errorf("Acquire beyond the bound: got %v, want ErrQueue", err)
		}
		cancel()
		for range 2 {
			if err := <-failed; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "requests wait for their turn") {
				t.Errorf("Acquire that was given up: got %v, want context.Canceled and why", err)
			}
		}
		held.Done(Outcome{})
		begin(t, g, demand("s")).Done(Outcome{})
	})
}

func TestCloseFailsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", limited(Limit{Concurrency: 1}))
		held := begin(t, g, demand("s"))
		failed := make(chan error)
		go func() {
			_, err := g.Acquire(t.Context(), demand("s"))
			failed <- err
		}()
		synctest.Wait()
		go func() { held.Done(Outcome{}); held.Done(Outcome{}) }()
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("waiting request: got %v, want ErrClosed", err)
		}
		if _, err := g.Acquire(t.Context(), demand("s")); !errors.Is(err, ErrClosed) {
			t.Errorf("Acquire after Close: got %v, want ErrClosed", err)
		}
		held.Done(Outcome{})
	})
}

// TestConcurrencyComesBack cuts a budget to one request at once, by an outage or bit by bit, and
// counts the runs of successes until it has come back.
func TestConcurrencyComesBack(t *testing.T) {
	for name, test := range map[string]struct{ successes, most int }{"outage": {0, 25}, "bit by bit": {1, 80}} {
		l := unlearned
		running := 5000
		for range 15 {
			l.cut(running)
			running = int(l.concurrency)
			for range test.successes {
				l.succeed(maxConcurrency)
			}
		}
		if l.concurrency > 3 {
			t.Errorf("%s: got %v at once, want it to be cut to a few", name, l.concurrency)
		}
		runs := 0
		for ; l.concurrency < 500; runs++ {
			for range int(l.concurrency) + 1 {
				l.succeed(maxConcurrency)
			}
		}
		if runs > test.most {
			t.Errorf("%s: got 500 at once after %d runs, want at most %d", name, runs, test.most)
		}
	}
}

// TestCutOnce refuses all of the requests that were on their way: the budget is cut once for them.
func TestCutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", nil)
		var all []*Permit
		for range 100 {
			all = append(all, begin(t, g, demand("s")))
		}
		rest(t.Context(), time.Second)
		for _, gr := range all {
			gr.Done(Outcome{Class: Throttled})
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if got := g.budgets[demand("s").Key].allowed(); got != 50 {
			t.Errorf("allowed after 100 were refused: got %d, want 50", got)
		}
	})
}

// TestOldRefusalsAreForgotten lets a budget that was cut rest for a night.
func TestOldRefusalsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", limited(Limit{Requests: 600, Concurrency: 100}))
		for range 10 {
			begin(t, g, demand("s")).Done(Outcome{Class: Throttled})
		}
		allowed := func() (int, float64) {
			begin(t, g, demand("s")).Done(Outcome{Class: Unsent})
			g.mu.Lock()
			defer g.mu.Unlock()
			b := g.budgets[demand("s").Key]
			return b.allowed(), b.taught.rate
		}
		if n, rate := allowed(); n > 30 || rate > 0.1 {
			t.Errorf("a minute later: got %d at once at a rate of %v, want it cut", n, rate)
		}
		rest(t.Context(), 8*time.Hour)
		if n, rate := allowed(); n != 100 || rate != 1 {
			t.Errorf("the next morning: got %d at once at a rate of %v, want all of it", n, rate)
		}
	})
}

// BenchmarkAcquire measures a request's permission and its end where the budget has enough.
func BenchmarkAcquire(b *testing.B) {
	for _, test := range []struct {
		name  string
		limit Limit
	}{{"unlimited", Limit{}}, {"limited", Limit{Requests: 1 << 40, Tokens: 1 << 50, Concurrency: 5000}}} {
		b.Run(test.name, func(b *testing.B) {
			g := replica(b, newMemory(), "r0", limited(test.limit))
			begin(b, g, demand("s")).Done(Outcome{})
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
	g := replica(b, newMemory(), "r0", limited(Limit{Concurrency: 5000}))
	for b.Loop() {
		var group sync.WaitGroup
		for n := range 5000 {
			group.Go(func() { begin(b, g, demand(fmt.Sprint("s", n%2))).Done(Outcome{}) })
		}
		group.Wait()
	}
}
