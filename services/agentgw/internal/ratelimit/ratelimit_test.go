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
)

// trace records a simulated run.
type trace struct {
	mu     sync.Mutex
	starts []time.Duration // since the beginning
	tokens []int64
	sweeps map[string]int
	now    int
	most   int
}

// simulate runs workers of several sweeps until the time is up. outcome decides how requests end.
func simulate(tb testing.TB, limiter *Limiter, sweeps map[string]int, length time.Duration, outcome func(r *rand.Rand) (time.Duration, Outcome)) *trace {
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
					d := request(sweep)
					permit, err := limiter.Acquire(ctx, d)
					if err != nil {
						sleep(ctx, time.Second)
						continue
					}
					wait, o := outcome(r)
					if o.Class == Unsent {
						permit.Done(o)
						continue
					}
					seen.note(time.Since(began), d, 1)
					sleep(context.WithoutCancel(ctx), wait)
					seen.note(0, d, -1)
					permit.Done(o)
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
		t.tokens = append(t.tokens, d.Estimate.Tokens)
		t.sweeps[d.Run.Sweep]++
	}
}

// busiestMinute returns the most requests and tokens that began within any minute.
func (t *trace) busiestMinute() (requests int, tokens int64) {
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
	return time.Duration(500+r.IntN(1500)) * time.Millisecond, Outcome{Class: Succeeded}
}

// anyOutcome draws any outcome.
func anyOutcome(r *rand.Rand) (time.Duration, Outcome) {
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
		o.Cost.Tokens = 700 + r.Int64N(300) + r.Int64N(400)
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
		{Limit{Requests: 600}, anyOutcome, 900},
		{Limit{Requests: 7}, success, 20},
		{Limit{Requests: 1}, success, 3},
		{Limit{Tokens: 100_000}, success, 290},
		{Limit{Tokens: 500}, success, 2},
		{Limit{Requests: 6000, Tokens: 300_000, Concurrency: 20}, anyOutcome, 240},
		{Limit{Concurrency: 4}, success, 540},
		{Limit{Concurrency: 1}, success, 120},
	} {
		t.Run(fmt.Sprint(test.limit, test.requests), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := replica(t, newMemory(), "r0", limited(test.limit))
				seen := simulate(t, limiter, map[string]int{"a": 60, "b": 60}, 3*time.Minute, test.outcome)
				requests, tokens := seen.busiestMinute()
				t.Logf("%s: %d requests, at most %d and %d tokens in a minute, %d at once; shares %v", test.limit, len(seen.starts), requests, tokens, seen.most, seen.sweeps)
				if l := test.limit.Requests; l > 0 && int64(requests) > l {
					t.Errorf("requests in the busiest minute: got %d, want at most %d", requests, l)
				}
				if l := max(test.limit.Tokens, 1000); test.limit.Tokens > 0 && tokens > l {
					t.Errorf("tokens in the busiest minute: got %d, want at most %d", tokens, l)
				}
				if l := test.limit.Concurrency; l > 0 && int64(seen.most) > l {
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

// TestQueueOrder checks the order in which requests begin one at a time.
func TestQueueOrder(t *testing.T) {
	q := &queue{sweeps: make(map[string]*sweepQueue)}
	names := map[*Permit]string{}
	for n, sweep := range []string{"a", "a", "a", "b", "b", "c"} {
		w := &Permit{request: request(sweep)}
		names[w] = fmt.Sprint(sweep, n)
		q.push(w, 3)
	}
	var order []string
	for q.n > 0 {
		w := q.next(func(w *Permit) bool { return w.request.Run.Sweep != "c" || q.n == 1 })
		order = append(order, names[w])
		q.pop(w, 1)
	}
	if want := []string{"a0", "b3", "a1", "b4", "a2", "c5"}; !slices.Equal(order, want) {
		t.Errorf("order: got %v, want %v", order, want)
	}
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", nil)
		permit := begin(t, limiter, request("s"))
		refused := time.Now()
		permit.Done(Outcome{Class: Throttled, RetryAfter: 20 * time.Second, Reason: "HTTP 429"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := limiter.Acquire(ctx, request("s")); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "wait for their turn; the last reason was: HTTP 429") {
			t.Errorf("Acquire with a second's time: got %v, want the deadline and the reason", err)
		}
		begin(t, limiter, request("s")).Done(Outcome{Class: Succeeded})
		if waited := time.Since(refused); waited < 20*time.Second || waited > 22*time.Second {
			t.Errorf("Acquire after Retry-After of 20 s: began after %s", waited)
		}
	})
}

// TestConcurrencyAdapts refuses more than eight concurrent requests, as a provider with an unknown
// limit does.
func TestConcurrencyAdapts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room = 8
		limiter := replica(t, newMemory(), "r0", nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var mu sync.Mutex
		running, refused, served := 0, 0, 0
		var group sync.WaitGroup
		for range 64 {
			group.Go(func() {
				for ctx.Err() == nil {
					permit, err := limiter.Acquire(ctx, request("s"))
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
						permit.Done(Outcome{Class: Throttled})
						continue
					}
					sleep(context.WithoutCancel(ctx), time.Second)
					mu.Lock()
					running--
					mu.Unlock()
					permit.Done(Outcome{Class: Succeeded})
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
		limiter := replica(t, newMemory(), "r0", func(c *Config) { c.BreakerFailures = 3; c.Limits = Limits{"openai": {Concurrency: 1}} })
		for range 2 {
			begin(t, limiter, request("s")).Done(Outcome{Class: Failed})
		}
		third := begin(t, limiter, request("s"))
		waiting := make(chan error)
		go func() {
			_, err := limiter.Acquire(t.Context(), request("s"))
			waiting <- err
		}()
		synctest.Wait()
		third.Done(Outcome{Class: Failed, Reason: "connection refused"})
		if err := <-waiting; !errors.Is(err, ErrBreakerOpen) {
			t.Errorf("waiting request: got %v, want ErrBreakerOpen", err)
		}
		const last = "; the last reason was: connection refused"
		_, err := limiter.Acquire(t.Context(), request("s"))
		if want := "budget of openai: circuit breaker is open, next attempt in 10.001s" + last; err == nil || err.Error() != want {
			t.Errorf("Acquire: got %v, want %s", err, want)
		}
		<-time.After(limiter.cfg.OpenFor + 2*time.Millisecond)
		probe := begin(t, limiter, request("s"))
		if _, err := limiter.Acquire(t.Context(), request("s")); !errors.Is(err, ErrBreakerOpen) || !strings.HasSuffix(err.Error(), last) {
			t.Errorf("Acquire beside the probe: got %v, want ErrBreakerOpen with its reason", err)
		}
		probe.Done(Outcome{Class: Failed})
		<-time.After(limiter.cfg.OpenFor - time.Second)
		if _, err := limiter.Acquire(t.Context(), request("s")); !errors.Is(err, ErrBreakerOpen) {
			t.Errorf("Acquire after a probe that failed: got %v, want ErrBreakerOpen for as long again", err)
		}
		<-time.After(time.Second + time.Millisecond)
		begin(t, limiter, request("s")).Done(Outcome{Class: Rejected})
		begin(t, limiter, request("s")).Done(Outcome{Class: Succeeded})
		begin(t, limiter, request("s")).Done(Outcome{Class: Succeeded})
	})
}

// TestRunWaitsForOutage fails a provider that has succeeded before. A run waits for MaxWait, and
// probes each time that the breaker is half-open.
func TestRunWaitsForOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", func(c *Config) { c.BreakerFailures = 3; c.MaxWait = 5 * time.Minute })
		begin(t, limiter, request("s")).Done(Outcome{Class: Succeeded})
		asked := 0
		at, err := acquireUntil(t, limiter, request("s"), time.Hour, func(time.Duration) Outcome {
			asked++
			return Outcome{Class: Failed}
		})
		if !errors.Is(err, ErrBreakerOpen) || at < 5*time.Minute || at > 6*time.Minute {
			t.Errorf("got %v after %s, want ErrBreakerOpen after 5m", err, at)
		}
		if asked < 20 || asked > 40 {
			t.Errorf("requests in 5 minutes: got %d, want one each 10 seconds or so", asked)
		}
		sleep(t.Context(), time.Minute)
		begin(t, limiter, request("s")).Done(Outcome{Class: Succeeded})
		begin(t, limiter, request("s")).Done(Outcome{Class: Succeeded})
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", func(c *Config) { c.Queue = 2; c.Limits = Limits{"openai": {Concurrency: 1}} })
		held := begin(t, limiter, request("s"))
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := limiter.Acquire(ctx, request("s"))
				failed <- err
			}()
		}
		synctest.Wait()
		if _, err := limiter.Acquire(ctx, request("s")); !errors.Is(err, ErrQueueFull) {
			t.Errorf("Acquire beyond the bound: got %v, want ErrQueueFull", err)
		}
		cancel()
		for range 2 {
			if err := <-failed; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "requests wait for their turn") {
				t.Errorf("Acquire that was given up: got %v, want context.Canceled and why", err)
			}
		}
		held.Done(Outcome{Class: Succeeded})
		begin(t, limiter, request("s")).Done(Outcome{Class: Succeeded})
	})
}

// TestConcurrencyRecovers cuts a budget to one concurrent request, at once or step by step, and
// counts the runs of successes until it has recovered.
func TestConcurrencyRecovers(t *testing.T) {
	const unlimited = 1 << 50
	for name, test := range map[string]struct{ successes, most int }{"outage": {0, 10}, "bit by bit": {1, 45}} {
		l := adaptiveLimits{concurrency: unlimited, rate: 1}
		running := 5000
		for range 15 {
			l.cut(running)
			running = int(l.concurrency)
			for range test.successes {
				l.succeed(unlimited, time.Second)
			}
		}
		if l.concurrency > 3 {
			t.Errorf("%s: got %v at once, want it to be cut to a few", name, l.concurrency)
		}
		runs := 0
		for ; l.concurrency < 500; runs++ {
			for range int(l.concurrency) + 1 {
				l.succeed(unlimited, time.Second)
			}
		}
		if runs > test.most {
			t.Errorf("%s: got 500 at once after %d runs, want at most %d", name, runs, test.most)
		}
	}
}

// TestCutOnce refuses all requests in flight. The budget is cut once.
func TestCutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", nil)
		var all []*Permit
		for range 100 {
			all = append(all, begin(t, limiter, request("s")))
		}
		sleep(t.Context(), time.Second)
		for _, permit := range all {
			permit.Done(Outcome{Class: Throttled})
		}
		limiter.mu.Lock()
		defer limiter.mu.Unlock()
		if got := limiter.budgets[request("s").Key].adaptive.concurrency; got != 50 {
			t.Errorf("allowed after 100 were refused: got %v, want 50", got)
		}
	})
}

// TestIdleBudgetIsReset leaves a reduced budget idle for a night.
func TestIdleBudgetIsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", limited(Limit{Requests: 600, Concurrency: 100}))
		for range 10 {
			begin(t, limiter, request("s")).Done(Outcome{Class: Throttled})
		}
		allowed := func() (int, float64) {
			begin(t, limiter, request("s")).Done(Outcome{Class: Unsent})
			limiter.mu.Lock()
			defer limiter.mu.Unlock()
			b := limiter.budgets[request("s").Key]
			return int(b.adaptive.concurrency), b.adaptive.rate
		}
		if n, rate := allowed(); n > 30 || rate > 0.1 {
			t.Errorf("a minute later: got %d at once at a rate of %v, want it cut", n, rate)
		}
		sleep(t.Context(), 8*time.Hour)
		if n, rate := allowed(); n != 100 || rate != 1 {
			t.Errorf("the next morning: got %d at once at a rate of %v, want all of it", n, rate)
		}
	})
}

// BenchmarkAcquire measures Acquire and Done with enough budget.
func BenchmarkAcquire(b *testing.B) {
	for _, test := range []struct {
		name  string
		limit Limit
	}{{"unlimited", Limit{}}, {"limited", Limit{Requests: 1 << 40, Tokens: 1 << 50, Concurrency: 5000}}} {
		b.Run(test.name, func(b *testing.B) {
			limiter := replica(b, newMemory(), "r0", limited(test.limit))
			begin(b, limiter, request("s")).Done(Outcome{Class: Succeeded})
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				begin(b, limiter, request("s")).Done(Outcome{Class: Succeeded})
				times = append(times, time.Since(began))
			}
			percentiles(b, times)
		})
	}
}

// BenchmarkManyWaiters queues 5,000 requests for one budget and ends them at once.
func BenchmarkManyWaiters(b *testing.B) {
	limiter := replica(b, newMemory(), "r0", limited(Limit{Concurrency: 5000}))
	for b.Loop() {
		var group sync.WaitGroup
		for n := range 5000 {
			group.Go(func() { begin(b, limiter, request(fmt.Sprint("s", n%2))).Done(Outcome{Class: Succeeded}) })
		}
		group.Wait()
	}
}
